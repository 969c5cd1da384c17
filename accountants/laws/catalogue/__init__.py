"""The fifteen laws, by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from accountants.laws.law import Law


def need_flint() -> None:
    """Refuse an audit that could confirm nothing for want of ball arithmetic."""
    try:
        import flint  # noqa: F401
    except ImportError:
        raise ValueError(
            "python-flint is not installed: violations are confirmed in its ball arithmetic "
            "(pip install 'dp2theory[certify]')"
        ) from None


def laws() -> Mapping[str, Law]:
    """The laws "L1" to "L15" in their order.

    Raises
    ------
    ValueError
        Without python-flint, in whose arithmetic their violations are confirmed.
    """
    need_flint()
    from accountants.laws.catalogue import (
        calibration,
        composition,
        extremes,
        monotone,
        orders,
        range_and_domain,
        soundness,
    )

    found = (
        range_and_domain.L1,
        range_and_domain.L2,
        soundness.L3,
        soundness.L4,
        monotone.L5,
        orders.L6,
        orders.L7,
        calibration.L8,
        composition.L9,
        soundness.L10,
        soundness.L11,
        soundness.L12,
        extremes.L13,
        calibration.L14,
        composition.L15,
    )
    return MappingProxyType({law.id: law for law in found})


def chosen(wanted: str | Iterable[str]) -> tuple[Law, ...]:
    """The laws named: "all", one id, or several.

    Raises
    ------
    ValueError
        If an id is unknown or none is named.
    """
    known = laws()
    if wanted == "all":
        return tuple(known.values())
    ids = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in ids:
        if name not in known:
            raise ValueError(f"laws={name!r}: must be 'all' or among {', '.join(known)}")
    if not ids:
        raise ValueError(f"laws={ids!r}: must be 'all' or among {', '.join(known)}")
    return tuple(law for law in known.values() if law.id in ids)
