"""`dp2theory.plan` is the planner, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dp2theory
from dp2theory.planning.plan import make_plan


def test_plan_is_the_planner() -> None:
    assert dp2theory.plan is make_plan
    with pytest.raises(AttributeError, match="'dp2theory' has no attribute 'plans'"):
        _ = dp2theory.plans


def test_the_package_alone_loads_no_numpy() -> None:
    code = "import sys, dp2theory; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
