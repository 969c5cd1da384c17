"""Public names that the reference would leave out in silence: constants and fields without a word.

Modules, functions, classes and methods are held by tests/repo/test_tree.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# What is made by these brings its own words, which the pages of the theorems print.
SPEAKING = {"Theorem", "Assumption", "parameter", "sequence", "process", "index"}


def undocumented(source: str) -> list[str]:
    """The public constants and fields of one module's text that nothing is said about.

    A constant is documented by a comment ``#:`` before it or behind it, by a string after it, or
    by the module's docstring; a field by the docstring of its class. Aliases of array types say
    what they are; in a module of theorems the letters of the statements stand on their pages.

    Parameters
    ----------
    source : str

    Returns
    -------
    list of str
        ``NAME`` of a constant, ``Class.name`` of a field.
    """
    tree = ast.parse(source)
    return [*_constants(tree, source), *_fields(tree)]


def _public(name: str) -> bool:
    return not name.startswith("_")


def _names(text: str | None) -> set[str]:
    return set(re.findall(r"\w+", text or ""))


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.AnnAssign):
        return [(node.target.id, node.value)] if isinstance(node.target, ast.Name) else []
    if not isinstance(node, ast.Assign):
        return []
    targets = [each for target in node.targets for each in ast.walk(target)]
    return [(each.id, node.value) for each in targets if isinstance(each, ast.Name)]


def _constants(tree: ast.Module, source: str) -> Iterator[str]:
    lines = source.splitlines()
    said = _names(ast.get_docstring(tree))
    of_theorems = any(name == "THEOREMS" for node in tree.body for name, _ in _assigned(node))
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        before = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
        own = any("#:" in line for line in lines[node.lineno - 1 : node.end_lineno])
        string = (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        )
        if before.startswith("#:") or own or string:
            continue
        for name, value in _assigned(node):
            if _public(name) and name not in said and not of_theorems and not _speaks(value):
                yield name


def _speaks(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).split(".")[-1] in SPEAKING
    return isinstance(value, ast.Subscript) and ast.unparse(value.value) == "NDArray"


def _fields(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if not (isinstance(node, ast.ClassDef) and _public(node.name) and _is_record(node)):
            continue
        said = _names(ast.get_docstring(node))
        for each in node.body:
            if not (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)):
                continue
            name, of_class = each.target.id, "ClassVar" in ast.unparse(each.annotation)
            if _public(name) and name not in said and not of_class:
                yield f"{node.name}.{name}"


def _is_record(node: ast.ClassDef) -> bool:
    makers = " ".join(ast.unparse(each) for each in (*node.decorator_list, *node.bases))
    return any(word in makers for word in ("dataclass", "attr.s", "define", "NamedTuple"))
