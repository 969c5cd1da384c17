"""The page of the laws is the one that the catalogue gives."""

from tests.laws.laws_page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.laws.laws_page"
