"""`python -m dp2theory.gallery`: pictures, data and a page; gone on from where it was stopped."""

import json

import pytest

from dp2theory import gallery
from dp2theory.experiments import settings
from tests.experiments.figures_made import SETTING, TINY


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The gallery of two figures of the tiny problem; returns the arguments to call it with."""
    monkeypatch.setitem(settings.SETTINGS, TINY, SETTING)
    monkeypatch.setattr(gallery, "GALLERY", (("fig3", TINY), ("fig4", TINY)))
    return ["--docs", str(tmp_path), "--store", str(tmp_path / "runs.db"), "--executor", "serial",
            "--quiet"]  # fmt: skip


def test_page_shows_every_picture_with_its_verdict(small, tmp_path, capsys, monkeypatch):
    assert gallery.main(small) == 0
    told = capsys.readouterr().out
    page = (tmp_path / "figures.md").read_text()
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert len(files) == 4
    for name in files:
        assert f"(figures/{name})" in page
    for path in (tmp_path / "figures").glob("*.json"):
        result = json.loads(path.read_text())["result"]
        for words in (result["verdict"]["claim"], result["verdict"]["text"]):
            assert words in page
        assert f"{result['figure']} {TINY}: " in told
        assert gallery.OUTCOMES[result["verdict"]["holds"]] in page
    assert f"dp2theory figure fig4 --problem {TINY}" in page
    assert "The figures of the DP² paper took " in page

    from dp2theory.experiments.store import Store

    monkeypatch.setattr(Store, "put", lambda *_: pytest.fail("ran again"))
    before = (tmp_path / "figures" / files[-1]).read_bytes()
    assert gallery.main([*small, "--only", "fig4"]) == 0
    assert (tmp_path / "figures" / files[-1]).read_bytes() == before
    # the other section is written again from its data, and the time of all stays
    assert (tmp_path / "figures.md").read_text() == page


def test_a_figure_on_resque_stands_beside_those_on_problems(small, tmp_path, capsys, monkeypatch):
    from dp2theory.experiments.resque import fig1

    monkeypatch.setattr(fig1, "SIZES", fig1.SIZES | {"points": 5})
    monkeypatch.setattr(gallery, "GALLERY", (("fig3", TINY), ("resque-fig1", None)))
    assert gallery.main([*small, "--only", "resque-fig1"]) == 0
    page = (tmp_path / "figures.md").read_text()
    assert "## ReSQue" in page
    assert "### resque-fig1: " in page
    assert fig1.CAPTION in page
    assert "`dp2theory figure resque-fig1`" in page
    assert "; nothing is random." in page
    assert "fig3" not in page
    assert "The figures on ReSQue took " in page
    assert gallery.main([*small, "--only", "fig3"]) == 0
    both = (tmp_path / "figures.md").read_text()
    assert both.index("### fig3") < both.index("### resque-fig1")
    assert both.endswith(page[page.index("## ReSQue") :])


def test_unknown_figure_is_refused(small, capsys):
    with pytest.raises(SystemExit) as stop:
        gallery.main([*small, "--only", "fig9"])
    assert stop.value.code == 2
    assert "fig9" in capsys.readouterr().err


def test_the_gallery_has_every_figure():
    from dp2theory.experiments.figures.registry import FIGURES
    from dp2theory.experiments.resque.registry import FIGURES as ON_RESQUE

    assert {figure for figure, problem in gallery.GALLERY if problem} == set(FIGURES)
    assert {figure for figure, problem in gallery.GALLERY if not problem} == set(ON_RESQUE)
    assert {problem for _, problem in gallery.GALLERY if problem} <= set(settings.SETTINGS)
