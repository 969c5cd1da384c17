"""What `dp2theory train` prints for a person."""

from typing import TYPE_CHECKING, Any

from dp2theory.cli._output import describe_inputs

if TYPE_CHECKING:
    from dp2theory.cli._training import Request


def print_result(result: dict[str, Any], inputs: dict[str, Any], request: "Request") -> None:
    """Print the result; with `--quiet` only the ratio of the means, or the mean."""
    paired = result["paired"]
    if request.quiet:
        print(
            repr(
                result["method"]["mean_train_loss"] if paired is None else paired["ratio"]["value"]
            )
        )
        return
    from dp2theory.report.plots import METHOD_NAMES
    from dp2theory.report.tables import RUN_HEADER, run_rows, text_table

    arms = [arm for arm in (result["method"], result["compare"]) if arm is not None]
    print(text_table(RUN_HEADER, run_rows(arms, METHOD_NAMES)))
    if paired is not None:
        _print_paired(paired)
    if "certificate" in result:
        from dp2theory.cli._certify import certify_text

        print(certify_text(result))
    print(f"noise multiplier = {result['noise_multiplier']!r}")
    for arm in arms[1:]:
        other = arm["settings"].get("noise_multiplier")
        if other is not None and other != result["noise_multiplier"]:
            print(f"noise multiplier of {arm['method']} = {other!r}")
    for arm in arms:
        epsilon = arm["epsilon"]
        print(
            f"epsilon of one {arm['method']} run in [{epsilon['lower']}, {epsilon['upper']}] "
            f"by its ledger of {arm['releases']} releases"
        )
        settings = {
            k: v for k, v in arm["settings"].items() if k not in ("method", "noise_multiplier")
        }
        delays = {run["delay"] for run in arm["runs"]}
        if len(delays) == 1 and None not in delays:
            settings["delay"] = delays.pop()
        print("  with " + ", ".join(f"{name} {_show(value)}" for name, value in settings.items()))
    if "group" in result:
        group = result["group"]
        print(
            f"for groups of {group['size']} records: "
            f"epsilon of one {result['method']['method']} run in "
            f"[{group['epsilon']['lower']}, {group['epsilon']['upper']}]"
        )
    discarded = result["discarded_pilot"]
    if discarded is not None:
        print(
            f"of these, {discarded['steps']} releases of the discarded pilot, which alone spent "
            f"epsilon <= {discarded['epsilon_spent']['upper']!r}"
        )
    print(f"for\n{describe_inputs(inputs)}")
    for note in result["notes"]:
        print(f"note: {note}")
    for path in (request.out, request.ledger, request.report):
        if path is not None:
            print(f"written: {path}")


def _print_paired(paired: dict[str, Any]) -> None:
    difference, ratio = paired["difference"], paired["ratio"]
    percent = f"{paired['confidence']:.0%}"
    for name, value, interval in (
        ("mean difference", difference["mean"], difference["interval"]),
        ("ratio of means", ratio["value"], ratio["interval"]),
    ):
        line = f"{name} = {value:.6g}"
        if interval is not None:
            line += f", {percent} interval [{interval['lower']:.6g}, {interval['upper']:.6g}]"
        print(f"{line} ({paired['pairs']} paired seed{'s' if paired['pairs'] > 1 else ''})")


def _show(value: Any) -> str:
    if isinstance(value, dict):  # side information
        return f"({', '.join(f'{name} {_show(inner)}' for name, inner in value.items())})"
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
