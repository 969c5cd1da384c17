"""The rooms of the packages as the code has them: folders, and who imports whom."""

import ast
from pathlib import Path

from docs.site.places import PACKAGES, ROOT

LIBRARIES = ("accountants", "bounds")


def rooms(root: Path = ROOT) -> set[str]:
    """The folders of dp2theory with modules, and its modules beside them, by dotted name."""
    folder = root / "dp2theory"
    inside = {path.parent.name for path in folder.glob("*/__init__.py")}
    beside = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    return {f"dp2theory.{name}" for name in inside | beside}


def room_of(module: str) -> str | None:
    """The room of a module: a library as a whole, or a part of dp2theory."""
    parts = module.split(".")
    if parts[0] in LIBRARIES:
        return parts[0]
    return ".".join(parts[:2]) if parts[0] == "dp2theory" and len(parts) > 1 else None


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(tree: ast.AST) -> set[str]:
    """Modules that a file imports, inside functions too, but not for types alone."""
    found: set[str] = set()
    todo = [tree]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif not _is_typing(node):
                todo.append(node)
    return found


def imports_of_rooms(root: Path = ROOT) -> dict[str, set[str]]:
    """For each room and library, the others that its modules import."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            room = room_of(module.removesuffix(".__init__"))
            if room is None:
                continue
            others = {room_of(name) for name in imported(ast.parse(path.read_text()))}
            found.setdefault(room, set()).update(other for other in others if other)
    return {room: others - {room} for room, others in found.items()}
