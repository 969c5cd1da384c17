"""Plan of phased localisation: phases, steps and noise, fixed before the data are read.

How far one record moves the average of a pass is proved at the head of
`dp2theory.resque.phased_localization`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dp2theory.problems.validation import open_unit, positive_real, whole_number
from dp2theory.resque.baseline_run import check_private
from dp2theory.resque.functions import StochasticFunction
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.sourced import Sourced

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket

#: Losses smoothed by their averaged gradients, or taken as they are.
VARIANTS = ("smoothed", "raw")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PhasedConstants(Sourced):
    """Choices of the method; `SOURCES` says where each comes from.

    Attributes
    ----------
    variant : {"smoothed", "raw"}, optional
        None: smoothed where the records' averaged gradients are known in closed form.
    records_shrink, step_shrink : float
        By what records and steps fall from phase to phase.
    phases : int, optional
        Largest number of phases; None: until a phase would have no record.
    """

    variant: str | None = None
    records_shrink: float = 2.0
    step_shrink: float = 4.0
    phases: int | None = None

    SOURCES: ClassVar[Mapping[str, str]] = {
        "variant": "given by the caller, or by what the function offers",
        "records_shrink": "Feldman, Koren and Talwar (2020), recalled: n/2^i records in phase i",
        "step_shrink": "Feldman, Koren and Talwar (2020), recalled: steps eta/4^i in phase i",
        "phases": "Feldman, Koren and Talwar (2020), recalled: log2 n",
    }

    def __post_init__(self) -> None:
        if self.variant is not None and self.variant not in VARIANTS:
            raise ValueError(f"variant={self.variant!r}: must be one of {', '.join(VARIANTS)}")
        for name in ("records_shrink", "step_shrink"):
            if not positive_real(name, getattr(self, name)) > 1:
                raise ValueError(f"{name}={getattr(self, name)!r} must be > 1")
        if self.phases is not None:
            whole_number("phases", self.phases)


@dataclass(frozen=True)
class Phase:
    """One pass over records that no other phase reads.

    Attributes
    ----------
    records : int
    step_size : float
    smoothing : float
        rho of the losses; 0 where they are taken as they are.
    noise_std : float
        Noise on the average, per coordinate.
    """

    records: int
    step_size: float
    smoothing: float
    noise_std: float


@dataclass(frozen=True)
class PhasedPlan:
    """Everything that is fixed before the data are read.

    Attributes
    ----------
    variant : str
    dataset_size : int
    lipschitz : float
        The public bound L.
    noise_multiplier : float
        Noise on an average over half of the most that a replaced record moves it.
    phases : tuple of Phase
    excess_bound : float
        Bound on the expected excess over the best point within R of the start, for records drawn
        independently from a population whose mean loss f is. See `plan_phased`.
    epsilon : Bracket
        At the target delta, under replacement of a record; each phase costs it.
    event : DpEvent
        Of one phase.
    target_delta : float
    constants : PhasedConstants
    """

    variant: str
    dataset_size: int
    lipschitz: float
    noise_multiplier: float
    phases: tuple[Phase, ...]
    excess_bound: float
    epsilon: Bracket
    event: DpEvent = field(repr=False)
    target_delta: float
    constants: PhasedConstants

    @property
    def parts(self) -> tuple[DpEvent, ...]:
        """One event for each phase: their records are disjoint."""
        return (self.event,) * len(self.phases)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "variant": self.variant,
            "dataset_size": self.dataset_size,
            "lipschitz": self.lipschitz,
            "noise_multiplier": self.noise_multiplier,
            "phases": [asdict(phase) for phase in self.phases],
            "excess_bound": self.excess_bound,
            "epsilon": self.epsilon.to_json(),
            "target_delta": self.target_delta,
            "constants": self.constants.to_json(),
        }


def plan_phased(
    function: StochasticFunction,
    *,
    target_epsilon: float,
    target_delta: float,
    constants: PhasedConstants | None = None,
) -> PhasedPlan:
    """Choose phases, steps and noise; of the function only its public numbers are read.

    The first step minimises this bound on the expected excess, in which phase i makes n_i steps
    of size eta_i, and noise of standard deviation s_i per coordinate goes on its average::

        R^2/(2 eta_1 n_1) + sum_{i>1} d s_{i-1}^2/(2 eta_i n_i)
            + sum_i (eta_i L^2/2 + bias_i) + L sqrt(d) s_k

    It adds the regret of one pass of each phase against the average of the one before, and the
    way from the last average to what is published. The bias of smoothing, sqrt(2/pi) rho L with
    ``rho = eta L/sqrt(2 pi)``, is eta_i L^2/pi: a smoothed linear model costs no order of accuracy.

    Parameters
    ----------
    function : StochasticFunction
        A mean over records.
    target_epsilon : float
        In (0, inf).
    target_delta : float
        In (0, 1).
    constants : PhasedConstants, optional

    Returns
    -------
    PhasedPlan

    Raises
    ------
    ValueError
        For values outside their domain, or ``smoothed`` where the averaged gradients of single
        records have no closed form here.
    """
    import dp_accounting

    from accountants import NeighboringRelation, calibrate_noise_multiplier

    function = check_private(function)
    target_epsilon = positive_real("target_epsilon", target_epsilon)
    target_delta = open_unit("target_delta", target_delta)
    constants = constants or PhasedConstants()
    variant = _variant(function, constants)
    found = calibrate_noise_multiplier(
        dp_accounting.GaussianDpEvent,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    sigma = found.noise_multiplier
    bound, radius, dimension = function.lipschitz, function.radius, function.dimension
    sizes = _sizes(function.sample_size, constants)
    # Everything over the first step eta: eta_i, and the noise of phase i.
    steps = constants.step_shrink ** -np.arange(1.0, len(sizes) + 1)
    noise = sigma * bound * steps * np.array([sensitivity(variant, n) for n in sizes]) / 2
    passes = steps * sizes
    falling = radius**2 / (2 * passes[0])
    bias = bound**2 / math.pi if variant == "smoothed" else 0.0
    rising = float(
        (dimension * noise[:-1] ** 2 / (2 * passes[1:])).sum()
        + (steps * (bound**2 / 2 + bias)).sum()
        + bound * math.sqrt(dimension) * noise[-1]
    )
    first = math.sqrt(falling / rising)
    smallest = bound / math.sqrt(2 * math.pi) * (1 + _ROUNDING) if variant == "smoothed" else 0.0
    return PhasedPlan(
        variant=variant,
        dataset_size=function.sample_size,
        lipschitz=bound,
        noise_multiplier=sigma,
        phases=tuple(
            Phase(size, first * float(step), first * float(step) * smallest, first * float(std))
            for size, step, std in zip(sizes, steps, noise, strict=True)
        ),
        excess_bound=2 * math.sqrt(falling * rising),
        epsilon=found.epsilon,
        event=dp_accounting.GaussianDpEvent(sigma),
        target_delta=target_delta,
        constants=constants,
    )


def sensitivity(variant: str, steps: int) -> float:
    """How far a replaced record moves the average of one pass, in units of L eta.

    Parameters
    ----------
    variant : {"smoothed", "raw"}
    steps : int
        Records of the pass, T.

    Returns
    -------
    float
        2, or 2 (2/3) sqrt(T): see the head of `dp2theory.resque.phased_localization`.
    """
    return 2.0 if variant == "smoothed" else 4.0 / 3.0 * math.sqrt(steps)


def _variant(function: StochasticFunction, constants: PhasedConstants) -> str:
    # Only these: the bias above is that of a function of one number, <a, x>.
    known = isinstance(function, (AbsoluteLoss, HingeLoss))
    if constants.variant == "smoothed" and not known:
        raise no_closed_form(function)
    return constants.variant or ("smoothed" if known else "raw")


def no_closed_form(function: StochasticFunction) -> ValueError:
    """What is raised where a smoothed pass is asked of another function."""
    return ValueError(
        f"variant='smoothed' for function={function.name!r}: must be an AbsoluteLoss or a "
        "HingeLoss, whose records' averaged gradients are known; 'raw' takes any"
    )


def _sizes(dataset_size: int, constants: PhasedConstants) -> list[int]:
    """Records of each phase; together at most all."""
    sizes: list[int] = []
    left = dataset_size
    limit = constants.phases or dataset_size
    size = dataset_size / constants.records_shrink
    while len(sizes) < limit and size >= 1 and left >= int(size):
        sizes.append(int(size))
        left -= int(size)
        size /= constants.records_shrink
    return sizes or [dataset_size]
