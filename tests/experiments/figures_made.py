"""Arms with made-up losses, and a tiny problem, for the tests of the figures."""

from accountants import Bracket
from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.settings import Setting
from dp2theory.experiments.tasks import TaskResult
from dp2theory.experiments.tuned import Candidate, Tuned

TINY = "het:n=400,d=12,amin=1/10,avg=3,seed=7"
SETTING = Setting(TINY, 40, steps=40, target_epsilon=8.0)


def result(loss, *, steps=(), losses=(), **metrics):
    """A task's result with that final loss; inf is a run that diverged."""
    diverged = loss == float("inf")
    metrics = {} if diverged else {"train_loss": loss} | metrics
    return TaskResult(loss, metrics, 40, tuple(steps), tuple(losses), diverged, "event", "code")


def arm(label, losses, *, method=None, delay=None, epsilon=2.8, runs=None):
    """An arm of one run per loss."""
    settings = {} if delay is None else {"delay": delay}
    tuned = Tuned(
        SETTING,
        method or label,
        settings,
        1.0,
        Bracket(epsilon, epsilon),
        (Candidate(settings, 1.0, (0.5,)),),
        (2**32,),
    )
    return Arm(label, tuned, tuple(runs or [result(loss) for loss in losses]))
