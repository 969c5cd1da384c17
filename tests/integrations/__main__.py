"""Run the integration tests and keep what they printed in docs/integrations/log.txt."""

import subprocess
import sys
from importlib.metadata import version

from dp2theory.files import write_text
from tests.repo.project import ROOT

LOG = ROOT / "docs" / "integrations" / "log.txt"
PACKAGES = (
    *("opacus", "torch", "jax_privacy", "jax", "optax"),
    *("dp-accounting", "prv-accountant", "numpy"),
)
COMMAND = (
    *("-m", "pytest", "-m", "integrations", "--no-header", "--color=no", "-q", "-rA", "-s"),
    *("-p", "no:cacheprovider", "tests/integrations"),
    *("tests/bites/test_frameworks.py", "tests/cli/test_peers.py"),
)


def main() -> int:
    """Run pytest in this environment; its exit code is returned."""
    lines = [f"{package} {version(package)}" for package in PACKAGES]
    lines.append(f"Python {sys.version.split()[0]}")
    run = subprocess.run(
        [sys.executable, *COMMAND], cwd=ROOT, capture_output=True, text=True, check=False
    )
    output = (run.stdout + run.stderr).replace(str(ROOT), ".").replace(sys.prefix, "ENV")
    text = "\n".join([*lines, "", "$ python " + " ".join(COMMAND), output.strip(), ""])
    text += f"exit code {run.returncode}\n"
    LOG.parent.mkdir(exist_ok=True)
    write_text(LOG, text)
    print(text)
    return run.returncode


if __name__ == "__main__":
    raise SystemExit(main())
