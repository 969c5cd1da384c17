"""The comparison of what goes beyond the paper, on a tiny problem."""

import json

from dp2theory.experiments import extensions, settings
from dp2theory.experiments.settings import Setting

TINY = Setting("het:n=240,d=10,amin=1/10,avg=3,seed=1", 24, steps=12, target_epsilon=4.0)


def test_it_reports_every_method_or_why_it_did_not_run(tmp_path, monkeypatch):
    monkeypatch.setitem(settings.SETTINGS, "het", TINY)
    monkeypatch.setattr(extensions, "METHODS", ("dp-rmsprop", "adadps-statistics", "no-method"))
    monkeypatch.setattr(extensions, "EVALUATIONS", 2)
    assert extensions.main(["--only", "het", "--executor", "serial", "--out", str(tmp_path)]) == 0
    (problem,) = json.loads((tmp_path / "extensions.json").read_text())["problems"]
    assert set(problem["methods"]) == {"dp-sgd", "dp-rmsprop", "adadps-statistics"}
    assert "no-method" in problem["refused"]
    losses = {name: arm["train_losses"] for name, arm in problem["methods"].items()}
    assert all(len(values) == 2 for values in losses.values())
    assert all(arm["epsilon"]["upper"] <= 4.0 for arm in problem["methods"].values())
    ratio = sum(losses["dp-rmsprop"]) / sum(losses["dp-sgd"])
    text = (tmp_path / "extensions.md").read_text()
    assert f"| {ratio:.3f} [" in text
    assert "no-method did not run: method='no-method'" in text
    assert "not accounted" in text


def test_unknown_problems_are_refused(tmp_path, capsys):
    assert extensions.main(["--only", "magic", "--out", str(tmp_path)]) == 2
    assert "problem='magic' must be one of het" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
