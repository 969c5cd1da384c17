"""Steps, batch sizes and remaining steps: the found number meets its budget, the next does not."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.privacy_accountant import UnsupportedEventError

from accountants import AccuracyError, Bracket, ExactAccountant, InfeasibleBudgetError
from accountants import NeighboringRelation as Relation
from accountants.budget import calibrate_batch_size, calibrate_steps, remaining_steps
from accountants.events import ShuffledEpochDpEvent, dp_sgd_event, sampled_gaussian_event
from accountants.integer_search import Search
from accountants.sampling import Poisson, ShuffledEpochs, WithoutReplacement, WithReplacement

ADD, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
BUDGET = {"target_epsilon": 2.0, "target_delta": 1e-6}


def epsilon(event, relation=ADD, delta=1e-6):
    return ExactAccountant(relation).compose(event).epsilon_bracket(delta)


def run_of(sampling, noise):
    return lambda steps: dp_sgd_event(sampling=sampling, noise_multiplier=noise, steps=steps)


def test_steps_of_plain_releases_have_a_closed_form():
    # T releases with noise s are one with noise s / sqrt(T): ε depends on T / s^2 only.
    def alone(noise):
        return epsilon(dp_accounting.GaussianDpEvent(noise)).upper

    low, high = 0.1, 100.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if alone(middle) > 2.0 else (low, middle)
    for noise in (5.0, 31.0, 4321.0):
        found = calibrate_steps(run_of(Poisson(1.0), noise), **BUDGET)
        assert found.value == math.floor((noise / high) ** 2)


@pytest.mark.parametrize(
    ("sampling", "noise", "relation"),
    [
        (Poisson(0.01), 1.0, ADD),
        (Poisson(0.01), 3.0, REPLACE),
        (WithoutReplacement(10_000, 100), 3.0, REPLACE),
        (WithoutReplacement(10_000, 100), 3.0, ADD),
    ],
)
def test_steps_by_trying_neighbours(sampling, noise, relation):
    run = run_of(sampling, noise)
    found = calibrate_steps(run, **BUDGET, neighboring_relation=relation)
    assert found.epsilon == epsilon(run(found.value), relation)
    assert found.next_epsilon == epsilon(run(found.value + 1), relation)
    assert found.epsilon.upper <= 2.0 < found.next_epsilon.upper


@pytest.mark.slow
def test_steps_with_replacement():
    run = run_of(WithReplacement(10_000, 100), 3.0)
    found = calibrate_steps(run, **BUDGET, neighboring_relation=REPLACE)
    assert found.epsilon.upper <= 2.0 < epsilon(run(found.value + 1), REPLACE).upper


@pytest.mark.parametrize("target", [0.3, 2.0, 9.0])
def test_the_search_agrees_with_trying_every_number(target):
    """Against a scan over all numbers."""

    def run(batch_size):
        return dp_sgd_event(sampling=Poisson(batch_size / 60), noise_multiplier=2.0, steps=20)

    found = calibrate_batch_size(run, dataset_size=60, target_epsilon=target, target_delta=1e-6)
    within = [b for b in range(1, 61) if epsilon(run(b)).upper <= target]
    assert found.value == max(within)
    assert within == list(range(1, found.value + 1))


@pytest.mark.parametrize(
    ("scheme", "relation"),
    [
        (WithoutReplacement, ADD),
        (WithoutReplacement, REPLACE),
        (WithReplacement, ADD),
        pytest.param(WithReplacement, REPLACE, marks=pytest.mark.slow),
    ],
)
def test_what_batch_sizes_are_assumed_to_do(scheme, relation):
    """A larger batch costs no less at a fixed number of steps: both ends."""
    ends = [
        epsilon(dp_sgd_event(sampling=scheme(500, b), noise_multiplier=9.0, steps=1000), relation)
        for b in (2, 3, 5, 10, 25, 60)
    ]
    for before, after in itertools.pairwise(ends):
        assert before.upper < after.upper
        assert before.lower < after.lower


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_batch_size_without_replacement(relation):
    def run(batch_size):
        sampling = WithoutReplacement(10_000, batch_size)
        return dp_sgd_event(sampling=sampling, noise_multiplier=4.0, steps=500)

    found = calibrate_batch_size(run, dataset_size=10_000, **BUDGET, neighboring_relation=relation)
    assert found.epsilon.upper <= 2.0 < epsilon(run(found.value + 1), relation).upper


def test_a_generous_budget_takes_the_whole_data_set():
    found = calibrate_batch_size(
        lambda b: run_of(Poisson(b / 30), 5.0)(2),
        dataset_size=30,
        target_epsilon=100.0,
        target_delta=1e-6,
    )
    assert (found.value, found.next_epsilon) == (30, None)


SPENT = dp_sgd_event(sampling=Poisson(0.01), noise_multiplier=1.0, steps=500)
STEP = dp_accounting.PoissonSampledDpEvent(0.02, dp_accounting.GaussianDpEvent(1.5))


def after(steps, step=STEP, spent=SPENT):
    return dp_accounting.ComposedDpEvent([spent, dp_accounting.SelfComposedDpEvent(step, steps)])


def test_remaining_steps_come_on_top_of_what_has_run():
    found = remaining_steps(SPENT, STEP, **BUDGET)
    assert found.value > 0
    assert found.epsilon == epsilon(after(found.value))
    assert found.epsilon.upper <= 2.0 < epsilon(after(found.value + 1)).upper
    alone = remaining_steps(dp_accounting.NoOpDpEvent(), STEP, **BUDGET)
    assert alone.value > found.value


def test_remaining_steps_of_a_run_continue_it():
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    whole = calibrate_steps(run_of(Poisson(0.01), 1.0), **BUDGET)
    assert remaining_steps(SPENT, step, **BUDGET).value == whole.value - 500


def test_no_step_may_remain():
    budget = {"target_epsilon": epsilon(SPENT).upper, "target_delta": 1e-6}
    found = remaining_steps(SPENT, STEP, **budget)
    assert (found.value, found.epsilon) == (0, epsilon(SPENT))


def test_remaining_epochs_of_shuffled_batches():
    epoch = ShuffledEpochDpEvent(1000, 10, dp_accounting.GaussianDpEvent(20.0))
    found = remaining_steps(
        dp_accounting.NoOpDpEvent(), epoch, **BUDGET, neighboring_relation=REPLACE
    )
    whole = calibrate_steps(
        lambda epochs: dp_accounting.SelfComposedDpEvent(epoch, epochs),
        **BUDGET,
        neighboring_relation=REPLACE,
    )
    assert found.value == whole.value > 0


def test_tight_steps_lie_between_the_fast_ones_and_what_is_attained():
    run = run_of(WithoutReplacement(1000, 20), 4.0)
    budget = BUDGET | {"neighboring_relation": REPLACE}
    fast = calibrate_steps(run, **budget)
    tight = calibrate_steps(run, **budget, tightness="tight")
    accountant = ExactAccountant(REPLACE, tightness="tight")
    assert tight.epsilon == accountant.compose(run(tight.value)).epsilon_bracket(1e-6)
    assert tight.epsilon.upper <= 2.0 < tight.next_epsilon.upper
    assert epsilon(run(tight.value), REPLACE).lower <= 2.0
    assert tight.value > 1.1 * fast.value  # the fast end is a fifth above the attained one here


def test_exact_schemes_need_no_tight_search(monkeypatch):
    """Where the attained cost already exceeds the budget, nothing tighter is asked."""
    from accountants import group as module

    asked = []

    class Watched(ExactAccountant):
        def epsilon_bracket(self, target_delta):
            asked.append(self.tightness)
            return super().epsilon_bracket(target_delta)

    monkeypatch.setattr(module, "ExactAccountant", Watched)
    found = calibrate_steps(run_of(Poisson(0.01), 1.0), **BUDGET, tightness="tight")
    assert found.value == 874
    assert set(asked) == {"fast"}


INFEASIBLE = [
    (
        lambda: calibrate_steps(run_of(Poisson(0.5), 0.5), **BUDGET),
        "not met by steps=1",
        "for steps=1",
    ),
    (
        lambda: calibrate_batch_size(
            lambda b: run_of(Poisson(b / 10), 0.5)(900), dataset_size=10, **BUDGET
        ),
        "not met by batch_size=1",
        "for batch_size=1",
    ),
    (
        lambda: remaining_steps(SPENT, STEP, target_epsilon=1.0, target_delta=1e-6),
        "what has run costs",
        "epsilon=1.58",
    ),
    (
        lambda: remaining_steps(dp_accounting.NonPrivateDpEvent(), STEP, **BUDGET),
        "what has run costs epsilon <= inf",
        "no epsilon is finite",
    ),
    (
        lambda: calibrate_steps(run_of(Poisson(0.0), 1.0), **BUDGET),
        "met by 1000000000000 steps",
        "steps=1000000000000",
    ),
    (
        lambda: remaining_steps(SPENT, dp_accounting.GaussianDpEvent(math.inf), **BUDGET),
        "met by 1000000000000 further steps",
        "further steps=1000000000000",
    ),
]


@pytest.mark.parametrize(("solve", "words", "nearest"), INFEASIBLE)
def test_what_cannot_be_solved_says_so_and_names_the_nearest(solve, words, nearest):
    with pytest.raises(InfeasibleBudgetError, match=words) as stop:
        solve()
    assert nearest in stop.value.nearest


def test_the_nearest_feasible_budget_is_feasible():
    with pytest.raises(InfeasibleBudgetError) as stop:
        calibrate_steps(run_of(Poisson(0.5), 0.5), **BUDGET)
    nearest = float(stop.value.nearest.partition("epsilon=")[2].partition(" ")[0])
    found = calibrate_steps(run_of(Poisson(0.5), 0.5), target_epsilon=nearest, target_delta=1e-6)
    assert found.value == 1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"target_epsilon": 0.0}, "target_epsilon=0.0"),
        ({"target_epsilon": math.inf}, "target_epsilon=inf"),
        ({"target_epsilon": math.nan}, "target_epsilon=nan"),
        ({"target_delta": 0.0}, "target_delta=0.0"),
        ({"target_delta": 1.0}, "target_delta=1.0"),
        ({"tightness": "loose"}, "tightness='loose'"),
        ({"neighboring_relation": "replace"}, "neighboring_relation='replace'"),
    ],
)
def test_bad_arguments_are_named(changes, name):
    arguments = BUDGET | changes
    run = run_of(Poisson(0.01), 1.0)
    for solve in (
        lambda: calibrate_steps(run, **arguments),
        lambda: calibrate_batch_size(run, dataset_size=9, **arguments),
        lambda: remaining_steps(SPENT, STEP, **arguments),
    ):
        with pytest.raises(ValueError, match=name):
            solve()


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "9"])
def test_a_data_set_has_a_whole_size(size):
    with pytest.raises(ValueError, match="dataset_size="):
        calibrate_batch_size(run_of(Poisson(0.01), 1.0), dataset_size=size, **BUDGET)


def test_unsupported_steps_are_refused_even_where_none_remains():
    step = sampled_gaussian_event(sampling=ShuffledEpochs(10, 2), noise_multiplier=1.0)
    budget = {"target_epsilon": epsilon(SPENT).upper, "target_delta": 1e-6}
    with pytest.raises(UnsupportedEventError, match="shuffled-epochs"):
        remaining_steps(SPENT, step, **budget)


def costs(function, *, fails=()):
    """A cost by formula; `fails` are numbers that cannot be computed."""
    calls = []

    def cost(number):
        calls.append(number)
        if number in fails:
            raise AccuracyError(f"no answer at {number}")
        value = float(function(number))
        return Bracket(value, value)

    return cost, calls


@pytest.mark.parametrize("power", [0.5, 0.7, 1.0, 1.6])
@pytest.mark.parametrize("answer", [1, 2, 3, 97, 12_345, 10**9 + 7])
def test_searches_are_short(power, answer):
    cost, calls = costs(lambda n: (n / (answer + 0.5)) ** power + 1e-3 * math.log1p(n / answer))
    left, right = Search(cost, cost(answer).upper, 1, 10**12).run(256)
    assert (left, right) == (answer, answer + 1)
    assert len(set(calls)) == len(calls) - 1  # nothing is computed twice, save the target here
    assert len(calls) <= 25


def test_searches_through_steps_and_plateaus():
    """Costs that are 0 for long, infinite early, or in jumps still end at neighbours."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        jumps = np.cumsum(rng.exponential(1.0, size=400) * (rng.random(400) < 0.3))
        infinite = int(rng.integers(50, 500))

        def function(n, jumps=jumps, infinite=infinite):
            return math.inf if n >= infinite else jumps[min(n, 400) - 1]

        cost, _ = costs(function)
        target = float(rng.choice(jumps)) + 1e-9
        left, right = Search(cost, target, 1, 400).run(int(rng.integers(1, 400)))
        expected = [n for n in range(1, 401) if function(n) <= target]
        assert left == (max(expected) if expected else 0)
        assert right == (left + 1 if left < 400 else None)


def test_an_answer_never_rests_on_what_could_not_be_computed():
    cost, _ = costs(lambda n: n, fails=range(20, 24))
    with pytest.raises(AccuracyError, match="no answer at 20"):
        Search(cost, 20.0, 1, 100).run(50)
    cost, _ = costs(lambda n: n, fails=range(30, 100))
    assert Search(cost, 20.0, 1, 100).run(60) == (20, 21)
