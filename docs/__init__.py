"""The documentation; `python -m docs.site` builds it, from the root of the project."""
