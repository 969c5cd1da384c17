"""Pictures and tables of the figures on ReSQue hold the numbers they were given."""

from functools import cache

import pytest

from dp2theory.cli._output import jsonable
from dp2theory.experiments.resque.registry import FIGURES
from dp2theory.report import (
    figures,
    plots,
    resque_common,
    resque_drift,
    resque_parallel,
    resque_private,
    resque_rates,
    resque_slopes,
    resque_tables,
)
from tests.experiments.resque.small import made


@cache
def result(name):
    return jsonable(made(name).to_json())


def axes():
    with plots.styled():
        return plots.new_figure()[1][0]


def lines(drawn):
    return {line.get_label(): line for line in drawn.lines}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_with_claim_and_caption(name):
    figure = figures.draw(result(name))
    told = figure.get_suptitle().replace("\n", " ")
    assert f"Claim: {result(name)['verdict']['claim']}" in told
    gates = len(result(name)["verdict"]["gates"])
    assert f"The claim holds here: {gates} of {gates} checks hold." in told
    assert figure.get_supxlabel().replace("\n", " ") == result(name)["caption"]


def test_the_files_are_pictures(tmp_path):
    paths = figures.paths_of(tmp_path, "ball-slope", None, ("png",))
    figures.write_figure({"result": result("ball-slope")}, paths)
    assert {path.name for path in tmp_path.iterdir()} == {"ball-slope.json", "ball-slope.png"}
    assert paths["png"].read_bytes().startswith(b"\x89PNG")


def test_failed_checks_are_told_in_the_picture():
    gates = [
        {"name": "a", "holds": True, "text": "x"},
        {"name": "b", "holds": False, "text": "1 > 0"},
    ]
    verdict = {"claim": "c", "holds": False, "gates": gates}
    with plots.styled():
        figure, _ = plots.new_figure()
        made_up = {"title": "t", "verdict": verdict, "caption": "k"}
        resque_common.heading(figure, made_up, width=80)
    assert "does not hold here: 1 of 2 checks hold; not: b (1 > 0)." in figure.get_suptitle()


def test_what_is_recalled_is_marked_in_names():
    row = {"method": "M", "recalled": {"one": "recalled", "two": "only its power is recalled"}}
    assert [resque_common.named(row, column) for column in ("one", "two", "three")] == [
        "M (recalled)", "M *", "M",
    ]  # fmt: skip


def test_rates_are_the_given_curves():
    data = result("resque-fig1")["data"]
    drawn = lines(resque_rates.draw_parallel(axes(), data, "query depth", only="query depths"))
    (sgd,) = [row for row in data["parallel"] if row["method"] == "SGD"]
    assert list(drawn["SGD"].get_ydata()) == sgd["values"]["query depth"]
    assert list(drawn["SGD"].get_xdata()) == [1 / each for each in data["accuracies"]]
    assert "DBW12 *" in drawn
    exponents = lines(resque_rates.draw_exponents(axes(), data))
    (ours,) = [row for row in data["private"] if row["method"] == "Theorem 4"]
    assert list(exponents["Theorem 4"].get_ydata()) == ours["values"]["gradient queries"]
    assert {"AFKT21 (recalled)", "KLL21 *", "GLL22 (function values)"} <= set(exponents)


def test_steps_are_the_given_counts():
    data = result("ball-slope")["data"]
    drawn = lines(resque_slopes.draw_steps(axes(), data, "max"))
    rows = data["rows"]
    slope = data["slopes"]["accepted"]["max"]
    found = drawn[f"accepted steps: slope {slope:.2f}"]
    assert list(found.get_ydata()) == [row["accepted"] for row in rows]
    assert list(drawn["bound on accepted steps"].get_ydata()) == [row["bound"] for row in rows]


def test_drifts_are_the_given_means():
    parts = result("drift")["data"]["parts"]
    (hard,) = [part for part in parts if (part["part"], part["seed"]) == ("hard", 0)]
    drawn = resque_drift.draw_growth(axes(), [hard], title="x")
    raw = next(bar for bar in drawn.containers if bar.get_label() == "raw subgradients")
    assert list(raw.lines[0].get_ydata()) == [
        row["drift"] for row in hard["rows"] if row["method"] == "raw"
    ]
    moments = resque_drift.draw_moments(axes(), [part for part in parts if part["seed"] == 0])
    labels = [text.get_text() for text in moments.get_yticklabels()]
    assert labels == ["linear, r/ρ = 0.1, p = 2", "linear, r/ρ = 0.1, p = 4",
                      "absolute, r/ρ = 0.1, p = 2"]  # fmt: skip


def test_bounds_off_the_scale_are_not_drawn():
    row = {"ratio": 0.25, "order": 8.0, "drift": 1.0, "standard_error": 0.1, "bound": "inf",
           "sharp_bound": 1e6}  # fmt: skip
    drawn = resque_drift.draw_moments(axes(), [{"part": "linear", "kind": "linear", "rows": [row]}])
    for words in ("resque.drift.powers", "resque.drift(.orders)"):
        assert not list(lines(drawn)[words].get_xdata())


def test_runs_are_the_given_counts_and_the_table_is_that_of_the_rates():
    data = result("resque-table1")["data"]
    drawn = resque_parallel.draw_runs(
        axes(), data, sweep="accuracy", count="queries", column="total queries", function="max"
    )
    (label,) = [words for words in lines(drawn) if words.startswith("Theorem 1: slope")]
    wanted = ("Theorem 1", "accuracy", 0)
    runs = [run for run in data["runs"] if (run["row"], run["sweep"], run["seed"]) == wanted]
    expected = [run["queries"] for run in runs]
    assert list(lines(drawn)[label].get_ydata()) == expected
    cells = resque_parallel.draw_rates(axes(), data).tables[0].get_celld()
    words = {cell.get_text().get_text() for cell in cells.values()}
    assert {"BJL+19", "2154", "2.154e+07 *"} <= words


def test_accountants_and_excess_are_the_given_ends():
    data = result("resque-table2")["data"]
    drawn = lines(resque_private.draw_accountants(axes(), data))
    (row,) = data["accounted"]
    for name, (words, *_) in resque_private.ACCOUNTANTS.items():
        assert list(drawn[words].get_xdata()) == [row["epsilon"][name]["upper"]]
    excess = resque_private.draw_excess(axes(), data)
    bar = next(one for one in excess.containers if one.get_label() == "noisy SGD")
    (run,) = [one for one in data["study"]["rows"] if one["method"] == "noisy-sgd"]
    assert list(bar.lines[0].get_ydata()) == [run["excess"]]


@pytest.mark.parametrize("name", FIGURES)
def test_tables_are_whole(name):
    for title, header, rows in resque_tables.tables_of(result(name)):
        assert title
        assert all(len(row) == len(header) for row in rows)
        assert all(isinstance(cell, str) for row in rows for cell in row)
