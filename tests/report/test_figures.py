"""Pictures of the paper's figures hold the numbers they were given."""

import copy

import pytest

from dp2theory.report import (
    figure_budgets,
    figure_common,
    figure_curves,
    figure_delays,
    figure_moments,
    figures,
    plots,
)


def mean(value, half=0.01):
    if value == "inf":
        return {"value": "inf", "interval": None}
    return {"value": value, "interval": {"lower": value - half, "upper": value + half}}


def arm(label, value, *, method=None, curve=True, against=0.9, **more):
    losses = ["inf", "inf"] if value == "inf" else [value - 0.005, value + 0.005]
    shown = {"steps": [0, 10, 20], "losses": [0.7, 0.6, losses[1]],
             "lower": [0.7, 0.55, 0.4], "upper": [0.7, 0.65, 0.6]}  # fmt: skip
    empty = {"steps": [], "losses": [], "lower": [], "upper": []}
    return {
        "label": label,
        "method": method or label,
        "epsilon": {"lower": 2.79, "upper": 2.8},
        "losses": losses,
        "train_loss": mean(value),
        "metrics": {"test_accuracy": mean(0.8)},
        "against": {"ratio": {"value": against}, "difference": {"mean": -0.1}},
        "curve": shown if curve else empty,
        "diverged": 0,
    } | more


def result(figure, data, *, holds=True):
    return {
        "figure": figure,
        "title": "What $it$ shows",
        "problem": {
            "name": "het$A", "dataset_size": 20000, "dimension": 301, "steps": 3120,
            "unit_of_privacy": "a rating, not a user",
        },
        "verdict": {"claim": "c", "holds": holds, "text": "DP² is 6.0 % below DP-SGD. " * 8},
        "data": data,
    }  # fmt: skip


ARMS = [arm("dp-sgd", 0.5), arm("dp-rmsprop", 0.47), arm("dp2-rmsprop", 0.45)]
PLANNER = {"delay": 4, "regret": 0.01}
DATA = {
    "fig1": {
        "checkpoints": [5, 10], "ranks": [0, 1, 2], "noise_variance": 1e-4,
        "plain": [[1e-6, 1e-5, 1e-3], [0.0, 2e-5, 1e-3]],
        "noisy": [[1e-4, 2e-4, 1e-3], [2e-4, 1e-4, 1e-3]], "epsilon": {"lower": 1, "upper": 2.8},
    },
    "fig2": {
        "baseline": "RMSProp", "delays": [2, 4],
        "arms": [arm("RMSProp", 0.4, method="rmsprop"),
                 arm("delayed RMSProp, s = 2", 0.41, method="delayed-rmsprop"),
                 arm("delayed RMSProp, s = 4", "inf", method="delayed-rmsprop", curve=False),
                 arm("SGD", 0.6, method="sgd")],
    },
    "fig3": {
        "points": [
            {"delay": s, "h": h, "interval": {"lower": h / 2, "upper": h * 0.9},
             "noise_only": 2 * h, "folded_normal": h, "bounds": {"lower": h / 1.3, "upper": h},
             "signal_to_noise": s / 10, "signal_to_noise_attained": s / 5}
            for s, h in ((1, 1.0), (4, 2.0), (16, 3.5))
        ],
    },
    "fig4": {"baseline": "dp-sgd", "arms": ARMS},
    "fig5": {"budgets": [{"target_epsilon": e, "arms": ARMS} for e in (0.5, 2.8)]},
    "fig6": {
        "dp_sgd": ARMS[0], "best_delay": 4, "planner": PLANNER,
        "delays": [{"delay": s, "arm": arm(f"s = {s}", value, method="dp2-rmsprop")}
                   for s, value in ((2, 0.49), (4, 0.45), (16, "inf"))],
    },
    "fig7": {"baseline": "DP²-RMSProp", "delay": 4, "arms": [
        arm("DP-SGD", 0.5, method="dp-sgd"), arm("DP²-RMSProp", 0.45, method="dp2-rmsprop"),
        arm("ablation 2, noise first", "inf", method="dp2-rmsprop-noise-first", against=1.2)]},
    "table1": {"baseline": "dp-sgd", "arms": [one | {"side_information": "nothing"}
                                              for one in ARMS]},
}  # fmt: skip


def axes():
    with plots.styled():
        return plots.new_figure()[1][0]


def points(drawn):
    """Where error bars stand, by label."""
    return {
        bar.get_label(): list(zip(*(map(float, axis) for axis in bar.lines[0].get_data()),
                                  strict=True))
        for bar in drawn.containers
    }  # fmt: skip


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_every_figure_is_drawn_whole(name, ending, tmp_path):
    document = {"result": result(name, DATA[name])}
    paths = figures.paths_of(tmp_path, name, "het:n=1,d=2", (ending,))
    figures.write_figure(document, paths)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}-het-n-1-d-2.json", f"{name}-het-n-1-d-2.{ending}",
    }  # fmt: skip
    first = paths[ending].read_bytes()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[ending])
    figures.write_figure(document, paths)
    assert paths[ending].read_bytes() == first


@pytest.mark.parametrize("holds", [True, False, None])
def test_heading_tells_problem_unit_and_verdict(holds):
    figure = figures.draw(result("fig4", DATA["fig4"], holds=holds))
    told = figure.get_suptitle().replace("\n", " ")
    assert "n = 20,000, d = 301, T = 3,120" in told
    assert "privacy of a rating, not a user" in told
    assert f"The claim {figure_common.OUTCOMES[holds]}. DP² is 6.0 % below" in told


def test_moments_are_the_given_rows():
    drawn = figure_moments.draw_moments(
        axes(), DATA["fig1"], DATA["fig1"]["noisy"], title="x", noise=1e-4
    )
    rows = [list(line.get_ydata()) for line in drawn.lines]
    assert rows[:2] == DATA["fig1"]["noisy"]
    assert rows[2] == [1e-4, 1e-4]


def test_curves_are_means_with_their_last_value():
    drawn = figure_curves.draw_curves(axes(), ARMS, ["r", "g", "b"], title="x")
    assert [list(line.get_ydata()) for line in drawn.lines] == [
        one["curve"]["losses"] for one in ARMS
    ]
    labels = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert labels == ["DP-SGD: 0.5000", "DP-RMSProp: 0.4700", "DP²-RMSProp: 0.4500"]


def test_means_are_drawn_as_given_and_not_computed():
    odd = arm("dp-sgd", 0.5) | {"train_loss": mean(0.9)}
    drawn = figure_curves.draw_final(axes(), [odd], ["r"])
    assert list(points(drawn).values()) == [[(0.18, 0.9)]]


def test_ratio_shows_measured_and_predicted():
    drawn = figure_delays.draw_ratio(axes(), DATA["fig3"])
    measured = points(drawn)["measured, with 95% interval (bias taken off)"]
    assert measured == [(1, 1.0), (4, 2.0), (16, 3.5)]
    lines = {line.get_label(): list(line.get_ydata()) for line in drawn.lines}
    assert lines["noise alone"] == [2.0, 4.0, 7.0]
    assert lines["folded normal (dp2.h.folded-normal)"] == [1.0, 2.0, 3.5]


def test_delays_show_the_best_the_planners_and_dp_sgd():
    drawn = figure_delays.draw_delays(axes(), DATA["fig6"])
    assert points(drawn)["DP²-RMSProp, tuned at each s"] == [(2, 0.49), (4, 0.45)]
    lines = {line.get_label(): line for line in drawn.lines}
    star = lines["best: s = 4"]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (4, 0.45)
    assert list(lines["DP-SGD"].get_ydata()) == [0.5, 0.5]
    assert lines["the planner's s = 4"].get_xdata()[0] == 4
    assert [label.get_text() for label in drawn.get_xticklabels()] == ["2", "4", "16"]
    none = copy.deepcopy(DATA["fig6"]) | {"planner": {"delay": None}}
    labels = [line.get_label() for line in figure_delays.draw_delays(axes(), none).lines]
    assert "the planner advises DP-SGD" in labels


def test_budgets_are_drawn_per_method_and_metric():
    drawn = figure_budgets.draw_budgets(axes(), DATA["fig5"]["budgets"])
    assert points(drawn)["DP²-RMSProp"] == [(0.5, 0.45), (2.8, 0.45)]
    drawn = figure_budgets.draw_budgets(axes(), DATA["fig5"]["budgets"], metric="test_accuracy")
    assert points(drawn)["DP-SGD"] == [(0.5, 0.8), (2.8, 0.8)]
    assert drawn.get_ylabel() == "test accuracy"


def test_rows_name_losses_changes_and_divergence():
    arms = DATA["fig7"]["arms"]
    drawn = figure_budgets.draw_rows(axes(), arms, arms[1], ["a", "b", "c"])
    told = [text.get_text() for text in drawn.texts]
    assert told == ["0.5000 (-10.0 %)", "0.4500 (-10.0 %)", "diverged"]
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["a", "b", "c"]


def test_unknown_figures_are_refused():
    with pytest.raises(ValueError, match="fig9"):
        figures.draw(result("fig9", {}))
