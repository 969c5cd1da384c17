"""Moved to `dp2theory.files`, since the report writes files too and imports no planning."""

from dp2theory.files import write_json, write_text, write_through

__all__ = ["write_json", "write_text", "write_through"]
