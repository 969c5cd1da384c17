"""The versions that the page is about, and those that are installed."""

from importlib.metadata import PackageNotFoundError, version

from tests.repo.project import ROOT

LOCK = ROOT / "tests" / "peers" / "requirements.txt"
TARGET = "make peers"


def locked() -> dict[str, str]:
    """Distribution -> version, in the order of the lock: the accountants' packages come first."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return dict(pins)


def installed(name: str) -> str | None:
    """The version without the label of a build ("2.13.0+cpu" is 2.13.0), or None."""
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return None


def differences() -> list[str]:
    """Where this environment is not the locked one, one line each."""
    return [
        f"{name}: locked {pinned}, installed {installed(name)}"
        for name, pinned in locked().items()
        if installed(name) != pinned
    ]
