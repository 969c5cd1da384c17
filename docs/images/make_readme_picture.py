"""Makes docs/images/readme.png: what the planner saw on two problems, and whether it was right.

Run as `python docs/images/make_readme_picture.py`; under a minute. Needs the extra `data`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dp2theory.report import plots

TARGET = Path(__file__).with_name("readme.png")
TEXT = "--problem text --batch-size 256 --epochs 30 --epsilon 2.8"
HET_M = "--problem hetM --batch-size 1024 --epochs 16 --epsilon 2.8"
SEEDS = 8


def result_of(command: str) -> dict[str, Any]:
    """The `result` that a command prints with --json."""
    words = [sys.executable, "-m", "dp2theory", *command.split(), "--json"]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(printed)["result"]
    return result


def main() -> None:
    """Plan twice, train once, draw."""
    text = result_of(f"plan {TEXT} --clip-norm 2.03 --learning-rate 0.83")
    het_m = result_of(f"plan {HET_M} --clip-norm 0.675 --learning-rate 13.2")
    runs = result_of(
        f"train {HET_M} --method dp2-rmsprop --compare dp-sgd --tune --seeds {SEEDS} --pilot"
    )
    with plots.styled():
        figure, (left, middle, right) = plots.new_figure(3, size=(15.0, 4.2))
        plots.draw_snr(left, text, title=f"text: the advice is {text['advice']}")
        plots.draw_snr(middle, het_m, title=f"hetM: the advice is {het_m['advice']}")
        title = f"hetM: equal ε, {SEEDS} paired seeds, both tuned"
        plots.draw_runs(right, [runs["method"], runs["compare"]], title=title)
        right.set_ylim(0.35, 0.7)  # the first steps are off the scale
        figure.savefig(TARGET)
    ratio = runs["paired"]["ratio"]
    interval = ratio["interval"]
    print(
        f"final train loss, DP² / DP-SGD: {ratio['value']:.3f} "
        f"[{interval['lower']:.3f}, {interval['upper']:.3f}]"
    )


if __name__ == "__main__":
    main()
