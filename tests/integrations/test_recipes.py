"""The programs of the recipe pages run and print what they say."""

import math
import re

import pytest

from tests.integrations.packages import needs
from tests.repo.project import ROOT
from tests.repo.test_documents import blocks

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("framework", ["optax", "torch"])
def test_recipe(framework, capsys):
    for package in (framework, "jax" if framework == "optax" else "opacus"):
        needs(package, package)
    if framework == "torch":
        from opacus.accountants import registry

        known = dict(registry._ACCOUNTANTS)
    (code,) = blocks((ROOT / "docs" / "integrations" / f"{framework}.md").read_text(), "py")
    exec(compile(code, f"{framework}.md", "exec"), {"__name__": "recipe"})
    if framework == "torch":
        registry._ACCOUNTANTS.clear()
        registry._ACCOUNTANTS.update(known)
    said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    got = capsys.readouterr().out.splitlines()
    with capsys.disabled():
        print(f"\n  {framework}.md: {'; '.join(got)}")
    assert len(said) == len(got) == 3
    for ours, theirs in zip(got, said, strict=True):
        (words, number), (said_words, said_number) = ours.rsplit(" ", 1), theirs.rsplit(" ", 1)
        assert words == said_words
        assert math.isclose(float(number), float(said_number), rel_tol=0.1), (ours, theirs)
