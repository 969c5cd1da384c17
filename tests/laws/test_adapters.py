"""Finding accountants by name, and the translation of events for those that take no events."""

import math
import subprocess
import sys
from types import SimpleNamespace

import dp_accounting as dp
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import accountants
from accountants import NeighboringRelation
from accountants.laws import adapters
from accountants.laws.adapters import _base
from accountants.laws.candidate import Candidate
from tests.repo.project import ROOT

OURS = ("ours-exact", "ours-exact-tight", "ours-renyi", "ours-truncated-cdp")
PEERS = (
    "dp-accounting-rdp dp-accounting-pld opacus-rdp opacus-prv opacus-gdp prv-accountant autodp "
    "riskcal jax-privacy-rdp jax-privacy-pld"
).split()
ADD, REPLACE, SPECIAL = NeighboringRelation
GAUSSIAN = dp.GaussianDpEvent(1.5)
POISSON = dp.PoissonSampledDpEvent(0.02, GAUSSIAN)
FIXED = dp.SampledWithoutReplacementDpEvent(100, 5, GAUSSIAN)


def poisson(q, sigma):
    return dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))


# Finding accountants


def test_all_promised_names_are_known():
    assert adapters.names() == (*OURS, *PEERS)
    assert set(adapters.installed()) >= {*OURS, "dp-accounting-rdp", "dp-accounting-pld"}
    for name in adapters.installed():
        candidate = adapters.load(name)
        assert candidate.name == name
        assert candidate.version


def test_listing_names_imports_no_other_package():
    code = (
        "import sys; from accountants.laws import adapters; adapters.installed(); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for package in "opacus torch prv_accountant autodp riskcal jax_privacy jax flint".split():
        assert f"'{package}'" not in run.stdout


def test_every_adapter_is_short():
    folder = ROOT / "accountants" / "laws" / "adapters"
    for module in adapters.MODULES:
        assert len((folder / f"{module}.py").read_text().splitlines()) < 60, module
    found = {path.stem for path in folder.glob("*.py")} - {"__init__", "_base"}
    assert found == set(adapters.MODULES)


def test_unknown_names_and_missing_packages(monkeypatch):
    with pytest.raises(ValueError, match=r"name='opacus': must be MODULE:CLASS or one of .*prv"):
        adapters.load("opacus")
    absent = Candidate("absent", lambda relation: None, package="no-such-distribution")
    monkeypatch.setattr(adapters, "_known", lambda: {"absent": absent})
    assert adapters.names() == ("absent",)
    assert adapters.installed() == ()
    with pytest.raises(adapters.MissingPackage, match="needs the package no-such-distribution"):
        adapters.load("absent")


def test_an_accountant_is_named_by_its_module():
    candidate = adapters.load("accountants.renyi.accountant:RenyiAccountant")
    assert candidate.relations == tuple(NeighboringRelation)
    made = candidate.make(NeighboringRelation.REPLACE_ONE)
    assert isinstance(made, accountants.RenyiAccountant)
    assert made.neighboring_relation is NeighboringRelation.REPLACE_ONE
    known = adapters.load("ours-exact")
    sys.modules["held"] = SimpleNamespace(candidate=known)
    try:
        assert adapters.load("held:candidate") is known
    finally:
        del sys.modules["held"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.such.module:Accountant", "there is no module no.such.module"),
        ("accountants.no_such:Accountant", "there is no module accountants.no_such"),
        ("accountants:NoSuch", "accountants has no NoSuch"),
        (":Accountant", "must be MODULE:CLASS"),
        ("accountants:", "must be MODULE:CLASS"),
    ],
)
def test_what_cannot_be_imported_is_said(name, message):
    with pytest.raises(ValueError, match=message):
        adapters.load(name)


def test_a_module_without_its_own_imports_says_which(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="half_installed needs the module no_such_dependency"):
        adapters.load("half_installed:Accountant")


# Trees as parts


@pytest.mark.parametrize(
    ("event", "count", "expected"),
    [
        (GAUSSIAN, 1, [(GAUSSIAN, None, 1)]),
        (POISSON, 3, [(GAUSSIAN, POISSON, 3)]),
        (dp.SelfComposedDpEvent(dp.SelfComposedDpEvent(FIXED, 5), 7), 2, [(GAUSSIAN, FIXED, 70)]),
        (
            dp.ComposedDpEvent([GAUSSIAN, dp.SelfComposedDpEvent(POISSON, 4), dp.NoOpDpEvent()]),
            10,
            [(GAUSSIAN, None, 10), (GAUSSIAN, POISSON, 40)],
        ),
        (dp.SelfComposedDpEvent(GAUSSIAN, 0), 3, []),
        (GAUSSIAN, 0, []),
        (dp.SelfComposedDpEvent(GAUSSIAN, -2), 3, [(GAUSSIAN, None, -6)]),
        (dp.LaplaceDpEvent(1.0), 10**8, [(dp.LaplaceDpEvent(1.0), None, 10**8)]),
        (dp.NonPrivateDpEvent(), 1, [(dp.NonPrivateDpEvent(), None, 1)]),
    ],
)
def test_parts_of_a_tree(event, count, expected):
    assert _base.parts(event, count) == expected


@pytest.mark.parametrize("value", [math.nan, 1.5, -1.0, 0.0, math.inf, 1e300])
def test_parameters_are_handed_on_as_they_are(value):
    (part,) = _base.parts(poisson(value, value))
    assert [x is value for x in part.sampled_gaussian()] == [True, True]


@pytest.mark.parametrize(
    "event", [FIXED, dp.LaplaceDpEvent(1.0), dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(1.0))]
)
def test_what_has_no_entry_point_is_refused(event):
    (part,) = _base.parts(event)
    with pytest.raises(dp.UnsupportedEventError, match="no entry point for"):
        part.sampled_gaussian()


def test_a_calibration_from_numbers_reads_them_off_the_run():
    asked = []
    calibrate = _base.from_numbers(lambda *numbers: asked.append(numbers) or 3)
    run = lambda sigma: dp.SelfComposedDpEvent(poisson(0.02, sigma), 50)  # noqa: E731
    assert calibrate(run, ADD, 1.0, 1e-6) == 3.0
    assert calibrate(dp.GaussianDpEvent, SPECIAL, 2.0, 1e-5) == 3.0
    assert asked == [(0.02, 50, 1.0, 1e-6), (1.0, 1, 2.0, 1e-5)]
    with pytest.raises(dp.UnsupportedEventError, match="one kind of step is calibrated, not 2"):
        calibrate(lambda s: dp.ComposedDpEvent([GAUSSIAN, poisson(0.1, s)]), ADD, 1.0, 1e-6)
    with pytest.raises(dp.UnsupportedEventError, match="no entry point"):
        calibrate(run, REPLACE, 1.0, 1e-6)


# The two shapes of accountants


class Stepping:
    """Opacus' interface, with the history that its ``step`` keeps."""

    def __init__(self):
        self.history = []

    def step(self, *, noise_multiplier, sample_rate):
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            *setting, before = self.history.pop()
            self.history.append((*setting, before + 1))
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta, **options):
        return delta, options, tuple(self.history)

    def __len__(self):
        return len(self.history)


@pytest.mark.parametrize(
    "runs",
    [
        [(0.1, 1.0, 3)],
        [(0.1, 1.0, 3), (0.1, 1.0, 4)],
        [(0.1, 1.0, 3), (0.2, 1.0, 1), (0.1, 1.0, 2)],
        [(0.1, 1.0, 0), (0.1, 2.0, 5)],
        [],
    ],
)
def test_counted_steps_leave_the_history_of_single_ones(runs):
    singly = Stepping()
    adapter = _base.StepAdapter(Stepping(), alphas=[2])
    for q, sigma, steps in runs:
        for _ in range(steps):
            singly.step(noise_multiplier=sigma, sample_rate=q)
        assert adapter.compose(dp.SelfComposedDpEvent(poisson(q, sigma), steps)) is adapter
    assert adapter.get_epsilon(1e-5) == (1e-5, {"alphas": [2]}, tuple(singly.history))
    assert len(adapter) == len(singly)


def test_nothing_is_taken_of_an_event_that_is_refused_in_part():
    half = dp.ComposedDpEvent([POISSON, dp.LaplaceDpEvent(1.0)])
    stepping = _base.StepAdapter(Stepping())
    keeping = _base.PartsAdapter(
        lambda relation, part: (relation, *part.sampled_gaussian()), REPLACE
    )
    for adapter in (stepping, keeping):
        with pytest.raises(dp.UnsupportedEventError):
            adapter.compose(half)
    assert (stepping.accountant.history, keeping.translated, keeping.counts) == ([], [], [])
    keeping.compose(POISSON, 4).compose(GAUSSIAN, 2).compose(POISSON)
    gaussians = [(REPLACE, 1.5, 0.02), (REPLACE, 1.5, 1.0), (REPLACE, 1.5, 0.02)]
    assert keeping.translated == gaussians
    assert (keeping.counts, keeping.starts) == ([4, 2, 1], [0, 4, 6])


# The adapters whose packages are always there


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize(
    ("name", "direct"),
    [
        ("ours-exact", accountants.ExactAccountant),
        ("ours-exact-tight", lambda r: accountants.ExactAccountant(r, tightness="tight")),
        ("ours-renyi", accountants.RenyiAccountant),
        ("ours-truncated-cdp", accountants.TruncatedCdpAccountant),
        ("dp-accounting-rdp", lambda r: RdpAccountant(neighboring_relation=r)),
        ("dp-accounting-pld", PLDAccountant),
    ],
)
def test_an_adapter_answers_what_its_accountant_does(name, direct, relation):
    made = adapters.load(name).make(relation).compose(GAUSSIAN, 3)
    assert made.get_epsilon(1e-5) == direct(relation).compose(GAUSSIAN, 3).get_epsilon(1e-5)
    assert made.get_delta(1.0) == direct(relation).compose(GAUSSIAN, 3).get_delta(1.0)


@pytest.mark.parametrize("name", ["ours-exact", "ours-exact-tight", "dp-accounting-rdp"])
def test_calibrations_end_on_the_private_side(name):
    candidate = adapters.load(name)
    relation = NeighboringRelation.REPLACE_ONE
    run = lambda sigma: dp.SelfComposedDpEvent(dp.GaussianDpEvent(sigma), 50)  # noqa: E731
    sigma = candidate.calibrate(run, relation, 2.0, 1e-5)
    spent = candidate.make(relation).compose(run(sigma)).get_epsilon(1e-5)
    assert 2.0 * (1 - 1e-4) < spent <= 2.0


@pytest.mark.parametrize("name", ["ours-renyi", "dp-accounting-rdp"])
def test_renyi_accountants_take_orders_and_show_their_curve(name):
    candidate = adapters.load(name)
    relation = NeighboringRelation.REPLACE_SPECIAL
    curve = candidate.renyi(dp.SelfComposedDpEvent(GAUSSIAN, 9), relation, [2.0, 4.0])
    assert list(curve) == pytest.approx([4.0, 8.0])  # 9 · order / (2 · 1.5^2)
    at_two, at_both = (
        candidate.make_with_orders(relation, orders).compose(GAUSSIAN, 9).get_epsilon(1e-5)
        for orders in ([2.0], [2.0, 4.0])
    )
    assert at_both < at_two


def test_the_template_in_the_documentation_is_the_adapter():
    page = (ROOT / "docs" / "how-to" / "add-an-adapter.md").read_text()
    adapter = (ROOT / "accountants" / "laws" / "adapters" / "riskcal.py").read_text()
    assert f"```python\n{adapter}```\n" in page
