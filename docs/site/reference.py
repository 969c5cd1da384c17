"""The public modules of the packages, and a page of the reference for each.

A package lists its modules. They stand in no table of contents: a theme that shows the whole table
beside every page would take an hour for five hundred of them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePosixPath

from docs.site.docstrings import readable
from docs.site.places import API, PACKAGES, ROOT, is_public, module_name

# Reading a module's syntax for one line would take a second for all of them.
OPENING = re.compile(r'r?"""(.*?)(?:\n\n|""")', re.DOTALL)


def public_modules(root: Path = ROOT) -> dict[str, Path]:
    """The public modules by name, in order, with their files.

    Parameters
    ----------
    root : Path
        Where the packages lie.
    """
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = module_name(ROOT / path.relative_to(root))
            if is_public(name):
                found[name] = path
    return dict(sorted(found.items()))


def lazy_names(path: Path) -> dict[str, str]:
    """The names that a package loads on first use, each with the module that defines it."""
    if path.name != "__init__.py":
        return {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return dict(ast.literal_eval(node.value))
    return {}


def own_names(path: Path) -> list[str]:
    """The public functions and classes that a file defines, in order."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, kinds) and is_public(node.name)
    ]


def first_line(path: Path) -> str:
    """The first sentence of a module's docstring, on one line, as reStructuredText."""
    found = OPENING.match(path.read_text())
    return readable(" ".join(found[1].split())) if found else ""


def page(name: str, path: Path, modules: dict[str, Path]) -> str:
    """The page of one module.

    Parameters
    ----------
    name : str
        Of the module.
    path : Path
        Its file.
    modules : dict of str to Path
        All public modules: a package lists its own.
    """
    lines = [":orphan:", ""] if "." in name else []
    lines += [name, "=" * len(name), "", f".. automodule:: {name}"]
    names = lazy_names(path)
    below = [other for other in modules if other.rpartition(".")[0] == name]
    if not names:
        lines += ["   :members:"]
    elif own := own_names(path):
        lines += [f"   :members: {', '.join(own)}"]
    lines += [""]
    if names:
        lines += [".. rubric:: Names of the package", ""]
        lines += [f"* :py:obj:`{each} <{home}.{each}>`" for each, home in sorted(names.items())]
        lines += [""]
    if below:
        lines += [".. rubric:: Modules", ""]
        lines += [f"* :doc:`{each}`: {first_line(modules[each])}" for each in below]
        lines += [""]
    return "\n".join(lines)


def reference_pages(root: Path = ROOT) -> dict[PurePosixPath, str]:
    """The pages of all public modules, by their place on the site."""
    modules = public_modules(root)
    return {API / f"{name}.rst": page(name, path, modules) for name, path in modules.items()}


def contents() -> str:
    """The hidden table of contents of the page that introduces the reference."""
    names = "\n".join(f"api/{package}" for package in PACKAGES)
    return "\n```{toctree}\n:hidden:\n\n" + names + "\n```\n"
