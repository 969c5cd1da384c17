"""No public constant or field goes without a word: the reference would leave it out in silence."""

import pytest

from docs.site.reference import public_modules
from tests.docs.undocumented import undocumented

PACKAGES = ("accountants", "bounds", "dp2theory")


def test_the_check_bites():
    assert undocumented("FORGOTTEN = 3") == ["FORGOTTEN"]
    assert undocumented("FIRST, SECOND = 1, 2  # why so") == ["FIRST", "SECOND"]
    assert undocumented("A: int = 3") == ["A"]
    assert undocumented("# An aside.\nA = 3") == ["A"]
    record = '@dataclass(frozen=True)\nclass A:\n    """An a{}."""\n    b: int\n    _c: int = 0\n'
    assert undocumented(record.format("")) == ["A.b"]
    assert undocumented(record.format(" b and _c")) == []
    assert undocumented('class A(NamedTuple):\n    """An a."""\n    b: int\n') == ["A.b"]
    assert undocumented("symbol = Variable('x')") == ["symbol"]


@pytest.mark.parametrize(
    "text",
    [
        "#: Why so.\nA = 3",
        "A = 3  #: why so",
        'A = 3\n"""Why so."""',
        '"""A is three."""\nA = 3',
        "_A = 3",
        "__all__ = []",
        "Array = NDArray[np.float64]",
        'sigma = parameter("sigma", "noise")',
        "x = Variable('x')\nTHEOREMS = (Theorem(),)",
        'class A:\n    """No record."""\n    b: int\n',
        '@dataclass\nclass _A:\n    """Private."""\n    b: int\n',
        '@dataclass\nclass A:\n    """An a."""\n    b: ClassVar[int] = 0\n',
    ],
)
def test_what_is_documented(text):
    assert undocumented(text) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_public_goes_without_a_word(package):
    files = {n: path for n, path in public_modules().items() if n.split(".")[0] == package}
    found = {name: undocumented(path.read_text()) for name, path in files.items()}
    assert {name: names for name, names in found.items() if names} == {}
