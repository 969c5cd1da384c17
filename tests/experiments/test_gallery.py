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
    assert "CPU minutes." in page

    from dp2theory.experiments.store import Store

    monkeypatch.setattr(Store, "put", lambda *_: pytest.fail("ran again"))
    before = (tmp_path / "figures" / files[-1]).read_bytes()
    assert gallery.main([*small, "--only", "fig4"]) == 0
    assert (tmp_path / "figures" / files[-1]).read_bytes() == before


def test_unknown_figure_is_refused(small, capsys):
    with pytest.raises(SystemExit) as stop:
        gallery.main([*small, "--only", "fig9"])
    assert stop.value.code == 2
    assert "fig9" in capsys.readouterr().err


def test_the_gallery_has_every_figure():
    from dp2theory.experiments.figures.registry import FIGURES

    assert {figure for figure, _ in gallery.GALLERY} == set(FIGURES)
    assert {problem for _, problem in gallery.GALLERY} <= set(settings.SETTINGS)
