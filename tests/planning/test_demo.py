"""The demonstration on a small problem, and (slow) as it is."""

import json
import resource

import pytest

from dp2theory import demo
from tests.cli.conftest import validate

SMALL = demo.Scene(
    "het:n=1500,d=20,amin=1/10,avg=4,seed=7", 100, 8, 1.0, 1.0, sgd_factor=0.3,
    adaptive_factor=3.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def scene():
    return demo.play(SMALL, quiet=True)


def test_results_are_those_of_the_command_line(scene):
    for name in ("plan", "runs"):
        validate(json.loads(json.dumps(scene[name])))
    plan, runs = scene["plan"]["result"], scene["runs"]["result"]
    assert plan["steps"] == runs["steps"] == runs["releases"] == 120
    assert runs["compare"]["releases"] == 120
    assert runs["epsilon"]["upper"] == runs["compare"]["epsilon"]["upper"] <= 2.8
    assert runs["paired"]["pairs"] == 3
    assert plan["noise_multiplier"] == runs["noise_multiplier"]
    advised = plan["advice"] != "dp-sgd"
    assert all((run["pilot_steps"] > 0) == advised for run in runs["method"]["runs"])
    assert all(run["pilot_steps"] == 0 for run in runs["compare"]["runs"])


def test_files_and_table(scene, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "SCENES", (SMALL,))
    assert demo.main([str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    ratio = scene["runs"]["result"]["paired"]["ratio"]["value"]
    assert f"{ratio:.4g}" in printed  # seeded: the same run again
    assert scene["plan"]["result"]["advice"] in printed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "://" not in page
    assert page.count("<img") == 4  # two of the plan, two of the runs
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_unknown_options_are_refused(capsys):
    assert demo.main(["--fast"]) == 2
    assert capsys.readouterr().err.startswith("usage:")


def interrupted_at(monkeypatch, release, folder):
    """Ctrl-C at that release of the demonstration; its exit code and message."""
    from dp2theory.cli._exit import classify
    from dp2theory.optimizers import protocol

    make, seen = protocol.release_mean, [0]

    def stop(*args, **options):
        seen[0] += 1
        if seen[0] == release:
            raise KeyboardInterrupt
        return make(*args, **options)

    monkeypatch.setattr(protocol, "release_mean", stop)
    monkeypatch.setattr(demo, "SCENES", (SMALL, SMALL))
    with pytest.raises(BaseException) as stopped:
        demo.main([str(folder)])
    return classify(stopped.value)


# A scene is a pilot of 30 releases and 6 runs of 120.
@pytest.mark.parametrize(
    ("release", "scenes", "runs"),
    [(20, 0, 0), (31, 1, 0), (30 + 240 + 5, 1, 2), (750 + 20, 1, 6), (750 + 30 + 130, 2, 7)],
)
def test_interrupted_demonstration_keeps_what_is_there(
    tmp_path, monkeypatch, release, scenes, runs
):
    code, message = interrupted_at(monkeypatch, release, tmp_path)
    assert code == 130
    path = tmp_path / "partial.json"
    if not scenes:
        assert list(tmp_path.iterdir()) == []
        return
    assert str(path) in message
    assert f"{runs} finished runs" in message
    kept = json.loads(path.read_text())
    assert kept["status"] == "interrupted"
    assert len(kept["scenes"]) == scenes
    found = 0
    for scene in kept["scenes"]:
        for name in ("plan", "runs"):
            validate(scene[name])
        for name in ("method", "compare"):
            found += sum(run["completed"] for run in scene["runs"]["result"][name]["runs"])
    assert found == runs
    assert list(tmp_path.iterdir()) == [path]


def test_interrupt_in_the_report_keeps_all_runs(scene, tmp_path, monkeypatch):
    from dp2theory.cli._exit import CommandError
    from dp2theory.report import plots

    def stop(_scenes):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "SCENES", (SMALL,))
    monkeypatch.setattr(demo, "play", lambda _scene: scene)
    monkeypatch.setattr(plots, "scenes_figure", stop)
    with pytest.raises(CommandError, match="1 of 1 problems finished; 6 finished runs"):
        demo.main([str(tmp_path)])
    assert json.loads((tmp_path / "partial.json").read_text())["scenes"] == [scene]


def test_a_folder_that_cannot_be_written_is_refused_first(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "play", lambda _scene: pytest.fail("data were touched"))
    (tmp_path / "demo.png").mkdir()
    with pytest.raises(ValueError, match=r"demo\.png: is a directory"):
        demo.main([str(tmp_path)])


@pytest.mark.slow
def test_the_demonstration_itself(tmp_path, capsys):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert demo.main([str(tmp_path)]) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 180
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:2] == ["text", "dp-sgd"]
    assert lines[3].split()[:2] == ["hetM", "dp2"]
    ratios = [float(line.split("[")[0].split()[-1]) for line in lines[2:4]]
    assert ratios[0] > 0.99  # on text DP² is no better, as the advice says
    assert ratios[1] < 0.97  # on hetM it is
