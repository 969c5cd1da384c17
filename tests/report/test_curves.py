"""Pictures of accounts hold the numbers they were given."""

import math

import numpy as np
import pytest

from dp2theory.report import curves, plots

SERIES = {
    "steps": [1, 10, 100],
    "exact": {"lower": [0.1, 0.3, 1.0], "upper": [0.1, 0.35, 1.25]},
    "renyi": {"upper": [0.2, 0.5, 1.75]},
    "tcdp": {"upper": [0.3, 0.6, 2.5]},
}


def drawn(series=SERIES, **options):
    with plots.styled():
        (axes,) = plots.new_figure()[1]
        return curves.draw_against_steps(axes, series, delta=1e-5, **options)


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


def test_every_end_is_drawn_and_named_with_its_last_value():
    found = lines(drawn())
    assert found == {
        "guarantee (upper end): 1.25": [0.1, 0.35, 1.25],
        "attained (lower end): 1": [0.1, 0.3, 1.0],
        "Rényi, upper end: 1.75": [0.2, 0.5, 1.75],
        "truncated CDP, upper end: 2.5": [0.3, 0.6, 2.5],
    }


def test_the_band_lies_between_the_two_ends():
    (band,) = drawn().collections
    corners = {tuple(vertex) for vertex in np.asarray(band.get_paths()[0].vertices)}
    ends = SERIES["exact"]
    for name in ("lower", "upper"):
        assert set(zip(SERIES["steps"], ends[name], strict=True)) <= corners


def test_scales_labels_and_delta():
    axes = drawn()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("steps", "ε")
    assert "1e-05" in axes.get_title("left")
    assert drawn(title="mine").get_title("left") == "mine"


def test_a_tight_end_is_a_mark_at_the_last_step():
    axes = drawn(tight={"lower": 1.0, "upper": 1.06})
    (mark,) = [line for line in axes.lines if line.get_marker() == "v"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (100, 1.06)
    assert mark.get_label() == "tight upper end: 1.06"


def test_an_accountant_that_covers_only_a_part_is_left_out():
    axes = drawn(SERIES | {"renyi": {"upper": [0.2]}})
    assert not any("Rényi" in label for label in lines(axes))


@pytest.mark.parametrize("bad", [0.0, math.inf])
def test_what_has_no_logarithm_is_drawn_on_a_linear_scale(bad):
    series = SERIES | {"exact": {"lower": [0.0, 0.3, 1.0], "upper": [0.1, 0.35, bad or 1.25]}}
    assert drawn(series).get_yscale() == "linear"


def test_nothing_released_says_so():
    axes = drawn({"steps": [], "exact": {"lower": [], "upper": []}})
    assert "nothing" in axes.texts[0].get_text()


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_files_are_of_the_kind_their_name_says(tmp_path, ending, start):
    path = tmp_path / f"picture.{ending}"
    curves.save_picture(curves.account_figure(SERIES, delta=1e-5), path)
    before = path.read_bytes()
    curves.save_picture(curves.account_figure(SERIES, delta=1e-5), path)
    assert path.read_bytes() == before
    assert path.read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
