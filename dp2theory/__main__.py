"""`python -m dp2theory`: the same program as the `dp2theory` command."""

import sys

from dp2theory.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
