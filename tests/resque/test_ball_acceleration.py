"""Ball acceleration with exact oracles: its counts, its caps and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import ProximalOracle
from dp2theory.resque.named_functions import function_named

#: Accepted steps on ``|x - c|_inf``, c_i as i^(-1/2), by R/r; d = 400, to 1/50 of the first value.
WARM = {4: 6, 8: 11, 16: 17, 32: 27, 64: 40, 128: 69, 256: 102, 512: 157}
COLD = {4: 6, 8: 10, 16: 16, 32: 26, 64: 40, 128: 62, 256: 94, 512: 139}


def run(ratio: float, name: str = "max", **options: Any) -> Any:
    function: Any = function_named(name, dimension=400)
    accuracy = 0.02 * function.value(function.start)
    oracle = ProximalOracle(function, function.radius / ratio, options.get("counter"))
    return accelerate(
        oracle,
        start=function.start,
        domain_radius=function.radius,
        lipschitz=function.lipschitz,
        accuracy=accuracy,
        **{"stop": lambda x: function.value(x) <= accuracy, **options},
    )


@pytest.mark.parametrize("ratio", WARM)
def test_accepted_steps(ratio: int) -> None:
    warm, cold = run(ratio), run(ratio, warm_start=False)
    assert (warm.accepted, cold.accepted) == (WARM[ratio], COLD[ratio])
    assert warm.forced == cold.forced == 0
    assert warm.stopped == cold.stopped == "stop"
