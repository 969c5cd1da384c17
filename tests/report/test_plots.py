"""Pictures hold the numbers they were given, and are complete at the edges."""

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from dp2theory.report import plots
from tests.report.results import arm, plan_result

PICTURE = "data:image/svg+xml;base64,"


def picture(figure):
    """The SVG in the address of a figure."""
    address = plots.to_data_uri(figure)
    assert address.startswith(PICTURE)
    return base64.b64decode(address.removeprefix(PICTURE)).decode()


def axes():
    with plots.styled():
        return plots.new_figure()[1][0]


def points(drawn, marker):
    found = [line for line in drawn.lines if line.get_marker() == marker]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in found]


def texts(drawn):
    return " | ".join(text.get_text() for text in drawn.texts)


def test_snr_curve_shows_every_block_and_both_delays():
    plan = plan_result()
    drawn = plots.draw_snr(axes(), plan)
    assert points(drawn, "o") == [
        (block["length"], pytest.approx(block["value"])) for block in plan["snr"]["blocks"]
    ]
    assert points(drawn, "D") == [(10, 0.5)]
    assert "$s = 10$" in texts(drawn)
    assert "$s = 7$" in texts(drawn)
    assert drawn.get_xscale() == drawn.get_yscale() == "log"
    assert drawn.get_xlabel().endswith("[steps]")
    low, high = drawn.get_ylim()
    assert low < 0.05 * 1
    assert high > 1.0


def test_ratio_zero_is_marked_as_below_the_scale():
    plan = plan_result()
    plan["snr"]["blocks"][0]["value"] = 0.0
    drawn = plots.draw_snr(axes(), plan)
    ((length, height),) = points(drawn, "v")
    assert length == 1
    assert height < min(y for _, y in points(drawn, "o"))


def test_no_advised_line_where_dp_sgd_is_advised():
    delay = {"recommended": None, "default": 10, "shortest": 5, "first_clear_length": "inf"}
    drawn = plots.draw_snr(axes(), plan_result(delay=delay))
    assert "advised" not in texts(drawn)


def test_plan_without_pilot_says_so_in_its_pictures():
    plan = plan_result()
    plan["snr"]["blocks"], plan["pilot"]["losses"] = [], []
    assert "no pilot" in texts(plots.draw_snr(axes(), plan))
    assert "no loss" in texts(plots.draw_pilot_loss(axes(), plan))


def test_all_ratios_zero_still_draws():
    plan = plan_result()
    for block in plan["snr"]["blocks"]:
        block["value"] = 0.0
    plan["snr"]["at_default_delay"] = 0.0
    plots.to_data_uri(plots.plan_figure(plan))


def test_pilot_loss_ends_at_the_switch():
    drawn = plots.draw_pilot_loss(axes(), plan_result())
    assert points(drawn, "o") == [(100, pytest.approx(0.59))]
    assert "step 100 of 400" in texts(drawn)


def test_runs_show_each_seed_and_the_given_mean():
    arms = [arm("dp2-rmsprop", [0.4, 0.42]), arm("dp-sgd", [0.45, 0.47])]
    drawn = plots.draw_runs(axes(), arms)
    labels = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert labels == ["DP²-RMSProp: 0.4100", "DP-SGD: 0.4600"]
    faint = [line for line in drawn.lines if line.get_alpha() == 0.25]
    assert sorted(line.get_ydata()[-1] for line in faint) == [0.4, 0.42, 0.45, 0.47]
    strong = [line for line in drawn.lines if line.get_alpha() is None]
    np.testing.assert_allclose([line.get_ydata()[-1] for line in strong], [0.41, 0.46])


def test_means_are_drawn_as_given_and_not_computed():
    """A result that claims another mean is drawn with that mean: the report computes nothing."""
    odd = arm("dp-sgd", [0.4, 0.42], mean_train_loss=0.5)
    assert "0.5000" in plots.draw_runs(axes(), [odd]).get_legend().get_texts()[0].get_text()
    bar = [line for line in plots.draw_final_losses(axes(), [odd]).lines if len(line.get_xdata())
           == 2 and line.get_linestyle() == "-"][-1]  # fmt: skip
    assert list(bar.get_ydata()) == [0.5, 0.5]


def test_final_losses_join_the_same_seed():
    drawn = plots.draw_final_losses(
        axes(), [arm("dp2-rmsprop", [0.4, 0.42]), arm("dp-sgd", [0.45, 0.47])]
    )
    joins = [tuple(line.get_ydata()) for line in drawn.lines if line.get_color() == "#b6c0c9"]
    assert joins == [(0.4, 0.45), (0.42, 0.47)]
    ticks = [label.get_text() for label in drawn.get_xticklabels()]
    assert ticks == ["DP²-RMSProp", "DP-SGD"]


def test_arm_without_finished_runs_is_drawn_empty():
    figure = plots.runs_figure([arm("dp2-rmsprop", []), arm("dp-sgd", [0.5])])
    assert "<svg" in picture(figure)


def test_style_is_the_projects_and_stays_inside():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with plots.styled():
        assert matplotlib.rcParams["svg.hashsalt"] == "dp2theory"
    assert dict(matplotlib.rcParams) == before


def test_svg_is_self_contained_and_png_is_whole(tmp_path):
    figure = plots.plan_figure(plan_result())
    drawing = picture(figure)
    ElementTree.fromstring(drawing)
    named = set(re.findall(r"https?://[^\"]*", drawing))
    assert named == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # namespaces
    assert drawing == picture(plots.plan_figure(plan_result()))
    plots.save_png(figure, tmp_path / "p.png")
    data = (tmp_path / "p.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert data.rstrip().endswith(b"IEND\xaeB`\x82")
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]
