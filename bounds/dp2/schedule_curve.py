"""The one setting in which bounds on alternating phases are drawn over the delay."""

from __future__ import annotations

from bounds.theorem import Curve

_DELAYS = (30, 40, 50, 60, 75, 100, 120, 150, 200, 300, 400, 500, 600)
_ALWAYS = "steps dimension diameter decay preconditioner_norm noise_std"
_SETTING = {
    "steps": 600,
    "dimension": 10,
    "diameter": 2.0,
    "learning_rate": 1.0,
    "decay": 0.5,
    "gradient_bound": 1.0,
    "gradient_term": 0.59,
    "preconditioned_gradient_moment": 2.0,
    "preconditioner_norm": 5.03,
    "noise_std": 1 / 32,
    "preconditioned_noise_std": 2 / 32,
}


def delay_curve(besides: str, names: tuple[str, ...] = ("bound",)) -> Curve:
    """A curve over the delay.

    Parameters
    ----------
    besides : str
        Parameters of the evaluation, by name with blanks between, besides those that every such
        bound has: steps, dimension, diameter, decay, preconditioner norm and noise.
    names : tuple of str
        Evaluations that are drawn.
    """
    wanted = {*_ALWAYS.split(), *besides.split()}
    fixed = {name: value for name, value in _SETTING.items() if name in wanted}
    return Curve(along="delay", values=_DELAYS, fixed=fixed, names=names, log_y=True)
