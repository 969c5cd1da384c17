"""The unit of privacy is said by every command, and groups of records are accounted."""

import pytest

from dp2theory.problems.factorization import MatrixFactorization
from dp2theory.problems.unit import unit_of

SIZES = "--dataset-size 2000 --batch-size 40 --steps 600 --delta 1e-5"
PROBLEM = "--problem het:n=300,d=9,amin=1/9,avg=2,seed=1 --batch-size 6 --steps 300 --epsilon 2"


@pytest.mark.parametrize(
    "command",
    [
        f"account --noise-multiplier 2 {SIZES}",
        f"calibrate --for noise-multiplier --epsilon 2 {SIZES}",
        f"plan --no-pilot {PROBLEM}",
        f"train --method dp-sgd {PROBLEM}",
    ],
)
def test_every_command_says_the_unit(cli, command):
    inputs = cli(command, "--json").document["inputs"]
    assert inputs["unit_of_privacy"] == {"value": "a record", "unit": "name", "default": True}
    assert "unit-of-privacy: a record" in cli(command).out


def test_a_rating_is_no_user(cli, tmp_path):
    lines = (f"{1 + i % 7}\t{1 + i % 11}\t{1 + i % 5}\t0" for i in range(60))
    data = tmp_path / "u.data"
    data.write_text("\n".join(lines) + "\n")
    page = tmp_path / "runs.html"
    command = f"train --problem movielens-100k --data {data} --batch-size 2 --steps 300 --epsilon 9"
    outcome = cli(command, f"--method dp-sgd --report {page} --json")
    unit = "a rating, not a user"
    assert outcome.document["inputs"]["unit_of_privacy"]["value"] == unit
    assert f"releases in all, for {unit}" in page.read_text()
    assert MatrixFactorization.unit == unit


def test_units_of_foreign_problems():
    class Foreign:
        pass

    class Patients:
        unit = "a patient"

    class Broken:
        unit = ""

    assert unit_of(None) == unit_of(Foreign()) == "a record"
    assert unit_of(Patients()) == "a patient"
    with pytest.raises(ValueError, match="unit=''"):
        unit_of(Broken())


def test_groups_cost_more_than_k_records(cli):
    run = f"account --noise-multiplier 4 {SIZES}"
    alone = cli(run, "--json").document["result"]["epsilon"]
    document = cli(run, "--group-size 5 --json").document
    group = document["result"]["epsilon"]
    assert group["lower"] > 5 * alone["upper"]
    assert document["inputs"]["group_size"] == {"value": 5, "unit": "records", "default": False}
    assert document["inputs"]["unit_of_privacy"]["value"] == "a group of at most 5 records"
    assert "docs/proofs/group.md" in document["result"]["explanation"]["source"]
    chained = cli(run, "--group-size 5 --sampling without-replacement --tightness fast --json")
    bracket = chained.document["result"]["epsilon"]
    assert 0 < bracket["lower"] < bracket["upper"]


@pytest.mark.parametrize(
    "target", ["noise-multiplier", "steps --noise-multiplier 8", "batch-size --noise-multiplier 8"]
)
def test_calibrated_values_keep_a_group_within_the_budget(cli, target):
    kind = target.split()[0]
    sizes = SIZES
    for name, value in (("steps", "--steps 600"), ("batch-size", "--batch-size 40")):
        sizes = sizes.replace(value, "") if kind == name else sizes
    found = cli(f"calibrate --for {target} --epsilon 1 --group-size 4 {sizes} --quiet").out.strip()
    run = f"--{kind} {found} {sizes} " + " ".join(target.split()[1:])
    again = cli(f"account --group-size 4 --json {run}").document["result"]["epsilon"]
    assert 0.9 < again["upper"] <= 1


def test_what_remains_for_a_group(cli):
    base = "account --dataset-size 2000 --batch-size 40 --noise-multiplier 8 --remaining 1"
    alone, group = (int(cli(base, f"--group-size {k} --quiet --delta 1e-5").out) for k in (1, 4))
    assert 0 < group < alone / 10


@pytest.mark.parametrize("size", ["0", "-3", "1000001", "2.5", "many"])
def test_bad_groups_are_refused(cli, size):
    cli(f"account --noise-multiplier 2 {SIZES} --group-size {size}").refused(2, "--group-size")
    command = f"calibrate --for noise-multiplier --epsilon 1 {SIZES} --group-size {size}"
    cli(command).refused(2, "--group-size")


@pytest.mark.parametrize("option", ["--peers", "--accountant renyi", "--plot a.png"])
def test_what_knows_single_records_only_is_refused(cli, option):
    run = f"account --noise-multiplier 2 {SIZES} --group-size 2"
    cli(run, option).refused(2, option.split()[0], "--group-size 2")
