"""The JSON schemas: one per command, valid, and strict enough to refuse a broken envelope."""

import copy
import json

import jsonschema
import pytest

from dp2theory.cli.app import COMMANDS
from tests.repo.project import ROOT

FOLDER = ROOT / "dp2theory" / "schemas"


def schema(command):
    return json.loads((FOLDER / f"{command}.json").read_text())


def test_every_command_has_a_schema_and_no_other():
    assert {path.stem for path in FOLDER.iterdir()} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_schema_is_valid_and_names_its_command(command):
    jsonschema.Draft202012Validator.check_schema(schema(command))
    properties = schema(command)["properties"]
    assert properties["command"] == {"const": command}
    assert properties["schema"] == {"const": f"dp2theory/{command}/1"}


ENTRY = {"value": 1, "unit": "1", "default": False}
BRACKET = {"lower": 1.0, "upper": "inf"}
GOOD = {
    "schema": "dp2theory/account/1",
    "version": "0.1.0",
    "command": "account",
    "inputs": dict.fromkeys(("relation", "accountant", "tightness", "steps"), ENTRY),
    "result": {
        "epsilon": BRACKET,
        "steps": 3,
        "explanation": {"upper": "u", "lower": "l", "exact": True, "source": "docs"},
        "answers": [
            {"accountant": "exact", "claim": "two-sided", "releases": 3, "epsilon": BRACKET},
            {"accountant": "tcdp", "claim": "none", "refused": "no theorem"},
        ],
        "notes": [],
        "peers": [
            {
                "name": "peer",
                "version": None,
                "value": None,
                "claim": None,
                "about": None,
                "unit": None,
                "same_question": False,
                "note": "not installed",
            }
        ],
    },
    "status": "ok",
}


def broken(change):
    document = copy.deepcopy(GOOD)
    change(document)
    return document


def test_a_good_envelope_passes():
    jsonschema.Draft202012Validator(schema("account")).validate(GOOD)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("version"),
        lambda d: d.update(extra=1),
        lambda d: d.update(status="perhaps"),
        lambda d: d.update(command="plan"),
        lambda d: d["inputs"].pop("relation"),
        lambda d: d["inputs"].update(steps=3),
        lambda d: d["inputs"].update(steps={"value": 3, "default": False}),
        lambda d: d["result"].update(epsilon=1.0),
        lambda d: d["result"]["epsilon"].pop("lower"),
        lambda d: d["result"]["epsilon"].update(upper="infinite"),
        lambda d: d["result"].update(steps=-1),
        lambda d: d["result"].pop("answers"),
        lambda d: d["result"].update(answers=[]),
        lambda d: d["result"].update(delta=BRACKET),
        lambda d: d["result"].update(remaining_steps=3),
        lambda d: d["result"]["answers"][0].pop("epsilon"),
        lambda d: d["result"]["answers"][0].update(claim="sure"),
        lambda d: d["result"]["answers"][1].update(epsilon=BRACKET),
        lambda d: d["result"]["peers"][0].pop("same_question"),
        lambda d: d["result"]["peers"][0].update(claim="guarantee"),
        lambda d: d["result"].update(steps=2.5),
        lambda d: d["result"].pop("steps"),
    ],
)
def test_a_broken_envelope_is_refused(change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema("account")).validate(broken(change))
