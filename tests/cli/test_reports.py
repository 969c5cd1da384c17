"""`--report`: the page of each command, next to the JSON output of the same run."""

from pathlib import Path

import pytest

from tests.cli.test_sweep import SPEC
from tests.report.reading import fields, problems
from tests.report.test_html import self_contained

ACCOUNT = "account --noise-multiplier 1 --dataset-size 1000 --batch-size 10"
COMMANDS = {
    "plan": "plan --problem het:n=200,d=12,amin=0.1,avg=4,seed=1 --batch-size 20 --epsilon 3"
    " --epochs 10",
    "account": f"{ACCOUNT} --epochs 1 --epsilon 1 --accountant all",
    "remaining": f"{ACCOUNT} --remaining 0.6",
    "verify": "verify dp2.A0.tail dp2.phi.stationary",
    "audit": "audit --method dp-sgd --trials 100 --steps 1 --executor serial",
    "sweep": "sweep --executor serial --spec spec.toml",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a sweep in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_shows_the_numbers_of_the_same_run(cli, here, name):
    document = cli(COMMANDS[name], "--json --report a.html").document
    page = Path("a.html").read_text(encoding="utf-8")
    reader = self_contained(page)
    assert problems(page, document) == []
    if name == "plan":
        section = reader.text.split(" Theorems ")[1].split(" Ledger ")[0]
        for id in document["result"]["certified"]["answers"][0]["theorems"].values():
            assert id in section
        assert "<=" in section
    assert len(fields(page)) > 10
    assert f"dp2theory {COMMANDS[name]} --json --report a.html" in reader.text
    assert name == "verify" or "Gaussian noise, noise multiplier" in reader.text
    assert "dp-accounting" in reader.text
    assert sorted(path.name for path in here.iterdir()) == ["a.html", "spec.toml"]


def test_hostile_names_are_text(cli, here):
    """Names of files and problems come from outside."""
    evil = "<script>alert(1)<"
    folder = here / evil
    folder.mkdir()
    spec = folder / "s.toml"
    spec.write_text(SPEC)
    assert cli(f"sweep --executor serial --spec {evil}/s.toml --report a.html --quiet").code == 0
    page = Path("a.html").read_text(encoding="utf-8")
    assert evil in self_contained(page).text
    assert "<script" not in page


@pytest.mark.parametrize("name", ["account", "remaining", "verify", "audit", "sweep"])
def test_unwritable_reports_are_refused_before_anything_runs(cli, here, name):
    cli(COMMANDS[name], "--report nowhere/a.html").refused(2, "--report nowhere/a.html:")
    cli(COMMANDS[name], "--report .").refused(2, "--report .:")


def test_an_input_is_not_overwritten(cli, here):
    cli(COMMANDS["sweep"], "--report spec.toml").refused(2, "--report spec.toml", "--spec")
    cli(COMMANDS["sweep"], "--report a.x --out a.x").refused(2, "--report a.x", "--out a.x")
    assert (here / "spec.toml").read_text() == SPEC


def test_a_stopped_sweep_has_a_page(cli, here, monkeypatch):
    from dp2theory.experiments import sweep

    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_tasks", stop)
    cli(COMMANDS["sweep"], "--store s.sqlite --report a.html").refused(130, "interrupted")
    assert "Interrupted" in self_contained(Path("a.html").read_text(encoding="utf-8")).text
