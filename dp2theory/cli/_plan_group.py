"""What a planned run costs a group of records, for `dp2theory plan --group-size`."""

from typing import TYPE_CHECKING, Any

from dp2theory.cli._progress import waiting
from dp2theory.cli._setting import Setting
from dp2theory.cli._unit import beside_inputs, group_epsilon

if TYPE_CHECKING:
    from dp_accounting import DpEvent


def group_part(size: int, event: "DpEvent", setting: Setting, *, quiet: bool) -> dict[str, Any]:
    """The result's part on groups of `size` records; nothing where a record stands alone."""
    if size == 1:
        return {}
    with waiting("accounting for groups", quiet=quiet):
        epsilon = group_epsilon(
            event,
            group_size=size,
            delta=setting.delta.value,
            relation=setting.run.neighboring_relation(),
        )
    return {"group": {"size": size, "epsilon": epsilon.to_json()}}


def group_inputs(size: int, setting: Setting) -> dict[str, Any]:
    """The group among the inputs; the budget, and so the unit of privacy, is one record's."""
    return dict(beside_inputs(size))


def print_group(result: dict[str, Any]) -> None:
    """The line for a person, where groups were asked for."""
    if "group" in result:
        size, epsilon = result["group"]["size"], result["group"]["epsilon"]
        print(
            f"for groups of {size} records: epsilon in [{epsilon['lower']!r}, {epsilon['upper']!r}]"
        )
