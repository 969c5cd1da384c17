"""`verify`: verdicts, words, and that runs attain the bounds that are tight."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import sympy

from bounds import theorems
from bounds.model import Model
from bounds.operators import E, RandomVariable
from bounds.proof import rational, tools
from bounds.theorem import Kind, Source, Theorem
from dp2theory.experiments.executors import open_executor
from dp2theory.verification import bounds_models, bounds_pep
from dp2theory.verification import verify as verification
from dp2theory.verification.bounds_families import FAMILIES, Job, jobs, perform
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.bounds_search import SPACES, moved, random_setting, sharpen
from dp2theory.verification.bounds_setting import Setting, attained
from dp2theory.verification.verify import InterruptedVerification, verify
from dp2theory.verification.verify_reasons import REASONS, why_not
from dp2theory.verification.verify_report import HOLDS, RUNS, UNTESTED, Test, Verdict

X, LIMIT = RandomVariable("x"), sympy.Symbol("limit")


def stated(statement):
    return Theorem("dp2.made", "made", statement, Kind.UPPER, Source("li2023dp2", "none"))


def test_a_handful_is_proved_and_tested():
    report = verify(["resque.ball.sum", "dp2.hermite", "dp2.phi.stationary", "resque.E2"])
    by_id = {each.id: each for each in report.verdicts}
    assert report.violated == ()
    assert by_id["resque.ball.sum"].verdict == HOLDS
    assert by_id["resque.ball.sum"].proof == "proved"
    assert by_id["resque.ball.sum"].slack == pytest.approx(1, abs=1e-9)
    assert "runs" in by_id["resque.ball.sum"].words
    assert "draws" in by_id["resque.E2"].words
    assert by_id["dp2.phi.stationary"].verdict == HOLDS  # derivatives, at points
    assert "points" in by_id["dp2.phi.stationary"].words
    assert by_id["resque.E2"].attained
    assert by_id["dp2.hermite"].attained is None
    assert by_id["dp2.hermite"].words.startswith("tested on ")
    assert "points" in by_id["dp2.hermite"].words
    assert "runs" not in by_id["dp2.hermite"].words
    assert by_id["dp2.hermite"].why_not
    assert report.counts()["theorems"] == 4


def test_what_nothing_tests_is_called_so(monkeypatch):
    monkeypatch.setattr(bounds_models, "try_models", lambda *_args, **_options: ())
    (verdict,) = verify(["dp2.hermite"]).verdicts
    assert (verdict.verdict, verdict.words) == (UNTESTED, "not tested")


def test_the_same_seed_finds_the_same():
    first, second = (verify(["resque.E2"], seed=3).to_json() for _ in range(2))
    for document in (first, second):
        del document["seconds"], document["theorems"][0]["seconds"]
    assert first == second


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_what_it_says(family):
    found = {}
    for job in (each for each in jobs("quick", 0) if each.family == family):
        if all(any(test.count for test in found.get(id, ())) for id in job.ids):
            break
        tests, _ = perform(job, theorems())
        assert set(tests) <= set(job.ids)
        for id, each in tests.items():
            found.setdefault(id, []).extend(each)
    assert set(found) == set(FAMILIES[family][1])
    for id, each in found.items():
        assert not [test.violation for test in each if test.violation]
        assert any(test.count for test in each), id  # the runs satisfy its assumptions


@pytest.mark.parametrize(("steps", "delay"), [(7, 2), (20, 5), (13, 13), (31, 4)])
def test_linear_loss_attains_the_bounds(steps, delay):
    tests, _ = perform(Job("rates", attained(steps, delay)), theorems())
    for id in ("dp2.master", "dp2.master.down", "dp2.master.average", "dp2.B"):
        assert tests[id][0].slack == pytest.approx(1, abs=1e-9)


def test_one_step_across_the_box_attains_the_others():
    once = attained(1, 1)
    tests, _ = perform(Job("rates", once), theorems())
    again, _ = perform(Job("common", replace(once, rate=0.5, ema=0.25)), theorems())
    for id in ("dp2.W", "dp2.master.best"):
        assert tests[id][0].slack == pytest.approx(1, abs=1e-9)
    for id in ("dp2.C", "dp2.C.apriori", "dp2.CTV.any-step", "dp2.master.common"):
        assert again[id][0].slack == pytest.approx(1, abs=1e-9), id
    (decaying,) = [each for each in jobs("quick", 0) if each == Job("decaying", once)]
    assert perform(decaying, theorems())[0]["dp2.A"][0].slack == pytest.approx(1, abs=1e-9)
    second = next(
        each for each in jobs("quick", 0) if each.family == "freeze" and each.setting.steps == 2
    )
    assert perform(second, theorems())[0]["dp2.C.freeze"][0].slack == pytest.approx(1, abs=1e-9)


def test_intervals_hold_the_mean_of_many_runs():
    wide, _ = perform(Job("plain_sgd", Setting(runs=16, steps=6, seed=1)), theorems())
    close, _ = perform(Job("plain_sgd", Setting(runs=128, steps=6, seed=1)), theorems())
    low, high = wide["dp2.dp-sgd"][0].interval
    first, last = close["dp2.dp-sgd"][0].interval
    assert low < close["dp2.dp-sgd"][0].slack < high
    assert last - first < high - low


def test_chance_is_told_from_violation():
    statement = sympy.Le(E(X), LIMIT)
    values = np.random.default_rng(0).normal(1, 1, 400)
    for limit, broken in ((2.0, False), (0.99, False), (0.5, True)):
        found = examine(stated(statement), Model({X: values, LIMIT: limit}), runs=400)
        assert bool(found.violation) == broken
        assert found.interval[0] < found.slack < found.interval[1]
    equality = examine(stated(sympy.Eq(E(X), LIMIT)), Model({X: values, LIMIT: 1.0}), runs=400)
    assert equality.slack is None
    assert equality.interval[0] < 1 < equality.interval[1]


def test_sides_that_are_both_0_tell_nothing():
    found = examine(stated(sympy.Le(X, LIMIT)), Model({X: 0.0, LIMIT: 0.0}))
    assert found.slack is None
    assert not found.violation


def test_words_claim_no_more_than_was_done():
    def verdict(*tests):
        return Verdict("dp2.x", "x", "upper", "proved", (), (), tests, UNTESTED, None, "", 0.0)

    assert verdict().words == "not tested"
    assert verdict(Test(RUNS, "broken", 0)).words == "not tested"
    assert verdict(Test("models", "m", 3), Test(RUNS, "r", 8)).words == (
        "tested on 3 models, 8 runs"
    )
    assert verdict(Test("models", "m", 1)).words == "tested on 1 model"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ids": ["dp2.nothing"]}, ["'dp2.nothing'", "near"]),
        ({"ids": "dp2.B"}, ["ids='dp2.B'"]),
        ({"level": "slow"}, ["level='slow'", "quick, full"]),
        ({"seed": -1}, ["seed=-1"]),
    ],
)
def test_refused(options, words):
    with pytest.raises(ValueError) as refusal:
        verify(**options)
    for word in words:
        assert word in str(refusal.value)


def test_a_search_closes_in_and_confirms_by_other_runs():
    wanted = {"resque.drift": theorems()["resque.drift"]}
    few, many = (sharpen("drift", wanted, seed=0, budget=budget)[0] for budget in (1, 12))
    (first,), (last,) = few["resque.drift"], many["resque.drift"]
    assert 1 <= last.slack <= first.slack
    assert last.searched == 12
    assert last.count == SPACES["drift"].many
    assert last.what.startswith("found by search: ")


@pytest.mark.parametrize("family", SPACES)
def test_settings_stay_in_their_ranges(family):
    space, rng = SPACES[family], np.random.default_rng(0)
    setting = random_setting(space, rng)
    for _ in range(50):
        setting = moved(space, setting, rng)
        for name, (low, high) in {**space.reals, **space.wholes}.items():
            alone = getattr(setting, "problem", "") == "slope"
            if not (alone and name in ("dimension", "batch_size")):
                assert low <= getattr(setting, name) <= high or name == "batch_size"
        assert getattr(setting, "delay", 1) <= getattr(setting, "steps", 1)


def test_without_pepit_a_note_says_so(monkeypatch):
    monkeypatch.setattr(bounds_pep, "find_spec", lambda _name: None)
    theorem = theorems()["dp2.dp-sgd.any-step"]
    assert bounds_pep.try_worst_case(theorem, full=True) == ()
    (note,) = bounds_pep.missing()
    assert "extra `pep`" in note


def test_worst_cases_are_no_runs():
    worst = Test(bounds_pep.PROGRAMS, "subgradient descent", 1, 2.0)
    assert why_not("dp2.dp-sgd.any-step", [worst])
    assert not why_not("dp2.dp-sgd.any-step", [worst, Test(RUNS, "r", 8)])


def test_an_interrupt_keeps_the_verdicts_so_far(monkeypatch):
    asked = ["dp2.hermite", "dp2.phi.stationary", "resque.ball.sum"]
    carried = verification._carry_out

    def stopped(unit, known, done):
        if unit.name == "dp2.phi.stationary":
            raise KeyboardInterrupt
        return carried(unit, known, done)

    monkeypatch.setattr(verification, "_carry_out", stopped)
    with pytest.raises(InterruptedVerification) as stop:
        verify(asked)
    partial = stop.value.partial
    assert [each.id for each in partial.verdicts] == ["dp2.hermite", "resque.ball.sum"]
    assert partial.unfinished == ("dp2.phi.stationary",)
    assert partial.to_json()["unfinished"] == ["dp2.phi.stationary"]


def test_an_interrupt_hides_no_violation(monkeypatch):
    right = theorems()["resque.ball.sum"]
    wrong = replace(right, statement=sympy.Gt(*right.statement.args))

    def stopped(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "_theorem", stopped)
    with pytest.raises(InterruptedVerification) as stop:
        verify([right.id], catalogue={right.id: wrong})
    assert stop.value.partial.verdicts == ()
    assert any("violated, though not finished" in each for each in stop.value.partial.notes)


def test_an_interrupt_is_no_answer_of_z3(monkeypatch):
    """By itself z3 takes Ctrl-C for itself and answers "unknown": a proof would seem to fail."""
    solver, told = tools.load("z3").Solver, []
    set_option = solver.set
    monkeypatch.setattr(
        solver, "set", lambda self, *option: (told.append(option), set_option(self, *option))
    )
    number = sympy.Symbol("number", real=True)
    assert rational.prove([number > 1], number > 0).ok
    assert ("ctrl_c", False) in told


def test_second_moments_exceed_where_a_tail_is_tested():
    """On runs whose gradients are as long as they can be, the excess is not 0."""
    (steep,) = [each for each in jobs("quick", 0) if each.family == "uncapped"][1:]
    tests, _ = perform(steep, theorems())
    for id in ("dp2.A0.tail", "dp2.A0.decline"):
        assert min(each.slack or np.inf for each in tests[id]) < 100, id


def test_models_stay_small():
    """Up to as many as a full call looks at; scenarios are easily exponential in the steps."""
    makers = {each.models for each in theorems().values() if each.models is not None}
    for make in makers:
        for model in islice(make(np.random.default_rng(0)), 400):
            assert all(each.size < 100_000 for each in model.processes.values()), model.note


@pytest.mark.slow
def test_an_executor_finds_the_same():
    ids = ["dp2.master", "dp2.dp-sgd", "resque.E2", "resque.ball.sum", "dp2.hermite", "dp2.C"]
    with open_executor("process:2") as workers:
        documents = [verify(ids, executor=each).to_json() for each in (None, workers)]
    for document in documents:
        del document["seconds"]
        for each in document["theorems"]:
            del each["seconds"]
    assert documents[0] == documents[1]


def test_every_reason_is_needed():
    answered = {id for _, ids in FAMILIES.values() for id in ids}
    left = [id for id in theorems() if id not in answered]
    for id in left:
        assert why_not(id, ()), id
    for start in REASONS:
        assert any(id.startswith(start) for id in left), start


@pytest.mark.slow
def test_everything_quickly():
    report = verify()
    assert report.violated == ()
    assert {each.id for each in report.verdicts} == set(theorems())
    assert report.counts()["failed"] == 0
