"""Runs the command line inside the test process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from dp2theory.cli.app import main


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The `--json` envelope, checked against the schema file of its command."""
        assert self.code in (0, 3, 130), self.err
        # strict: NaN and Infinity are no JSON, though Python would read them
        document: dict[str, Any] = json.loads(self.out, parse_constant=pytest.fail)
        validate(document)
        return document

    def refused(self, code: int, *words: str) -> None:
        """Assert an error as promised: this code, one line on stderr, nothing on stdout."""
        assert self.code == code, (self.code, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("dp2theory: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        for word in words:
            assert word in self.err


def validate(document: dict[str, Any]) -> None:
    """Check an envelope against `dp2theory/schemas/<command>.json`."""
    text = files("dp2theory").joinpath("schemas", f"{document['command']}.json").read_text()
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """`cli("account --steps 3 …", "--more")` -> Outcome; words are split at blanks."""

    def run(*parts: str) -> Outcome:
        capfd.readouterr()
        code = main([word for part in parts for word in part.split()])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
