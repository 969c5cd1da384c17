"""Print what the table lacks: ``python -m tests.properties.domains``."""

from tests.properties.domains import checks
from tests.properties.domains.calls import Row
from tests.properties.domains.exempt import exempt
from tests.properties.domains.listing import public_callables
from tests.properties.domains.rows import ROWS


def main() -> None:
    """One line for each callable that is undecided, and for each name that is no more."""
    publics = {public.key: public for public in public_callables()}
    for key in sorted({*ROWS, *exempt()} - set(publics)):
        print(f"{key}: there is no such callable")
    for key, public in publics.items():
        if key not in exempt():
            for line in checks.undecided(public, ROWS.get(key, Row())):
                print(line)


if __name__ == "__main__":
    main()
