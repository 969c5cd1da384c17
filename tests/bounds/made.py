"""A small theorem with all parts, and the outcome of its proof, made by hand."""

from sympy import Abs, Eq

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.symbols import C, g, nu1
from bounds.operators import E
from bounds.proof.methods import Linearity
from bounds.proof.replay import Report, StepResult
from bounds.proof.step import assumed, at, cite, expectation, inequality
from bounds.symbols import j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

MADE = Theorem(
    id="dp2.made",
    title="The second moment of a clipped gradient",
    statement=E(g(t, j) ** 2) <= C**2,
    kind=Kind.UPPER,
    source=Source("li2023dp2", "Lemma 9", Status.RECALLED, "as FKT20 has it"),
    assumptions=(
        Assumption("clipped", Abs(g(t, j)) <= C, "gradients are clipped", CODE),
        Assumption("noise", nu1 <= C, "the noise is small", CALLER),
    ),
    steps=(
        inequality("square", g(t, j) ** 2 <= C**2, "clipped", note="a square grows with |g|"),
        assumed("known", Eq(nu1, nu1), cite("dp2.other", {C: nu1}), note="see BLM13"),
        inequality("instance", g(t + 1, j) ** 2 <= C**2, at("square", {t: t + 1}), note=""),
        expectation(
            "mean", E(g(t, j) ** 2) <= C**2, "square", by=Linearity(over=(E,)), note="monotone"
        ),
    ),
    explanation="The mean square of a gradient is at most the square of its bound.",
    evaluations={"bound": C**2, "with_noise": C**2 + nu1**2},
    curve=Curve("gradient_bound", (0.5, 1.0, 2.0), {"noise_std": 0.5}, ("bound", "with_noise")),
    slack={"C**2": "attained by g = C only"},
    caveats=("It says nothing of | clipping |.",),
)

THEOREMS = (MADE,)


def made_report(
    *, ok: bool = True, failed: tuple[str, ...] = (), problems: tuple[str, ...] = ()
) -> Report:
    """The report of a replay of `MADE`."""
    steps = tuple(
        StepResult(
            id=step.id,
            rule=step.rule,
            ok=step.id not in failed,
            seconds=0.125,
            message="C = 2, g = 3" if step.id in failed else step.note,
            premises=(),
            conclusion=step.conclusion,
            note=step.note,
        )
        for step in MADE.steps
    )
    return Report(
        theorem=MADE.id,
        ok=ok,
        steps=steps,
        problems=problems,
        unused_assumptions=("noise",),
        unused_steps=("known", "instance"),
        assumed=("known", "dp2.other: tail"),
        cited=("dp2.other",),
        seconds=0.5,
    )
