"""Without a framework, its module says which extra brings it."""

import importlib
import sys

import pytest

from dp2theory.problems.errors import MissingExtraError


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("optax", "jax", "jax"), ("optax", "optax", "jax"), ("torch", "torch", "torch"),
     ("torch", "opacus", "torch")],
)  # fmt: skip
def test_the_extra_is_named(monkeypatch, module, package, extra):
    if module == "torch" and package == "opacus":
        pytest.importorskip("torch")  # which is looked for first
    if module == "optax" and package == "optax":
        pytest.importorskip("jax")
    name = f"dp2theory.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    for known in [each for each in sys.modules if each.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, known)
    # An entry of None: "not installed", whether it is or not.
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.optimizers", None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*dp2theory\[{extra}\]") as caught:
        importlib.import_module(name)
    assert isinstance(caught.value, ModuleNotFoundError)


def test_the_room_itself_needs_no_framework():
    importlib.import_module("dp2theory.integrations")
