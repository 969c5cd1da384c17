"""Errors that a caller may want to tell apart.

Values outside their domain are plain ``ValueError``; events without a theorem are
dp_accounting's ``UnsupportedEventError``.
"""

from __future__ import annotations


class AccuracyError(ArithmeticError):
    """The answer exists, but this engine cannot compute it to the error that it states.

    Raised in place of an answer whose error bar would be too wide.  The message says which
    part of the error budget failed.
    """


class InfeasibleBudgetError(ValueError):
    """No parameter of the searched kind meets the privacy budget.

    Parameters
    ----------
    message : str
        What was asked and why it cannot be met.
    nearest : str
        The nearest feasible setting, in words.
    """

    def __init__(self, message: str, nearest: str = "") -> None:
        super().__init__(message)
        self.nearest = nearest
