"""Settings for all tests: property-test profiles, a headless matplotlib, and no order of tests."""

import os

import mpmath
import pytest
from hypothesis import HealthCheck, settings

try:
    import flint
except ImportError:
    flint = None

os.environ.setdefault("MPLBACKEND", "Agg")

# ci: the same examples in every run, so that a red run is red again; thorough: look further.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _precision_of_its_own():
    """Precision is global in mpmath and FLINT; what one test sets must not reach the next one."""
    contexts = [mpmath.mp, *([flint.ctx] if flint else [])]
    before = [context.prec for context in contexts]
    yield
    for context, bits in zip(contexts, before, strict=True):
        context.prec = bits
