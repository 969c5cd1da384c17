"""`account --peers`: each answer is labelled, apart from ours, and absent peers are named."""

import importlib.metadata
import warnings

import dp_accounting
import pytest

from accountants import NeighboringRelation
from dp2theory.cli import _peers
from dp2theory.cli._answers import Question

RUN = "--dataset-size 1000 --batch-size 10 --steps 100 --noise-multiplier 2 --delta 1e-5"
NAMES = [peer.name for peer in _peers.PEERS]
POISSON = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(2.0)), 100
)


def asked(cli, *arguments):
    result = cli("account --json --peers --tightness fast", RUN, *arguments).document["result"]
    return result, {peer["name"]: peer for peer in result["peers"]}


def test_peers_come_beside_the_answer_and_never_into_it(cli):
    result, peers = asked(cli)
    assert list(peers) == NAMES
    alone = cli("account --json --tightness fast", RUN).document["result"]
    assert {key: value for key, value in result.items() if key != "peers"} == alone
    text = cli("account --peers --tightness fast", RUN).out
    ours, _, theirs = text.partition("peers (for comparison; no part of the answer above):\n")
    assert f"epsilon <= {result['epsilon']['upper']!r}" in ours
    assert "dp_accounting PLD" not in ours
    assert f"epsilon <= {peers['dp_accounting PLD']['value']!r}" in theirs


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one", "replace-special"])
def test_dp_accounting_answers_the_same_question(cli, relation):
    result, peers = asked(cli, f"--relation {relation}")
    pld = peers["dp_accounting PLD"]
    assert pld["same_question"] is True
    assert pld["about"] == f"this run, {relation}"
    # its grid is pessimistic by some 1e-3 here
    assert result["epsilon"]["lower"] <= pld["value"] <= result["epsilon"]["upper"] * 1.01
    rdp = peers["dp_accounting RDP"]
    if relation == "replace-one":
        assert rdp["value"] is None
        assert "does not cover this" in rdp["note"]
        assert "ADD_OR_REMOVE_ONE" in rdp["note"]
    else:
        assert rdp["value"] >= pld["value"]


def test_its_renyi_accountant_is_asked_in_its_own_unit(cli):
    """Without replacement its noise multiplier is relative to the replace diameter."""
    result, peers = asked(cli, "--sampling without-replacement")
    rdp = peers["dp_accounting RDP"]
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        1000,
        10,
        dp_accounting.GaussianDpEvent(1.0),  # half of 2
    )
    theirs = dp_accounting.rdp.RdpAccountant(
        neighboring_relation=NeighboringRelation.REPLACE_ONE
    ).compose(event, 100)
    assert rdp["value"] == theirs.get_epsilon(1e-5)
    assert rdp["unit"] == "noise standard deviation / replace diameter (2 clip norms)"
    assert rdp["value"] > result["epsilon"]["lower"]
    assert peers["dp_accounting PLD"]["note"].startswith("does not cover this")


def test_absent_peers_are_named(cli, monkeypatch):
    real = importlib.metadata.version

    def version(package):
        if package in ("opacus", "prv-accountant"):
            raise importlib.metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(_peers, "version", version)
    _, peers = asked(cli)
    for name in ("Opacus RDP", "Opacus PRV", "Opacus GDP", "prv_accountant"):
        assert peers[name]["version"] is None
        assert peers[name]["note"].startswith("not installed (pip install ")
    text = cli("account --peers --tightness fast", RUN).out
    assert "Opacus RDP: not installed (pip install opacus)" in text


class FakeAccountant:
    """Stands for Opacus' where that is not installed."""

    def get_epsilon(self, *, delta):
        assert delta == 1e-5
        return sum(noise * rate * steps for noise, rate, steps in self.history)


@pytest.fixture
def opacus(monkeypatch):
    class Module:
        @staticmethod
        def create_accountant(mechanism):
            if mechanism == "prv":
                raise FloatingPointError("overflow\nin a grid")
            return FakeAccountant()

    real = _peers.importlib.import_module
    monkeypatch.setattr(
        _peers.importlib,
        "import_module",
        lambda name: Module if name == "opacus.accountants" else real(name),
    )
    monkeypatch.setattr(_peers, "version", lambda package: "9.9")


@pytest.mark.usefixtures("opacus")
@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ("", True),
        ("--relation replace-special", True),
        ("--relation replace-one", False),
        ("--sampling without-replacement", False),
        ("--sampling shuffled-epochs", False),
    ],
)
def test_answers_about_another_question_are_labelled(cli, arguments, same):
    _, peers = asked(cli, arguments)
    answer = peers["Opacus RDP"]
    assert answer["value"] == pytest.approx(2.0 * 0.01 * 100)
    assert answer["about"] == "Poisson sampling at the same rate, add-or-remove-one"
    assert answer["unit"] == "noise standard deviation / clip norm"
    assert answer["same_question"] is same
    assert peers["Opacus GDP"]["claim"] == "estimate"
    text = cli("account --peers --tightness fast", RUN, arguments).out
    line = next(line for line in text.splitlines() if "Opacus RDP" in line)
    assert ("[another question than yours]" in line) is not same
    assert "Opacus GDP 9.9: epsilon ≈" in text


@pytest.mark.usefixtures("opacus")
def test_a_peer_that_fails_says_so_in_one_line(cli):
    _, peers = asked(cli)
    assert peers["Opacus PRV"]["note"] == "failed: FloatingPointError: overflow in a grid"
    assert peers["Opacus PRV"]["value"] is None


def answers_to(event, **question):
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    found = _peers.peer_answers(event, Question(relation, **question))
    return {peer["name"]: peer for peer in found}


@pytest.mark.usefixtures("opacus")
def test_what_a_peer_cannot_be_asked():
    at_epsilon = answers_to(POISSON, epsilon=1.0)
    assert at_epsilon["Opacus RDP"]["note"] == "answers ε at a δ only"
    assert 0 < at_epsilon["dp_accounting PLD"]["value"] < 1
    for event in (dp_accounting.NonPrivateDpEvent(), dp_accounting.NoOpDpEvent()):
        assert "Gaussian releases" in answers_to(event, delta=1e-5)["Opacus RDP"]["note"]


def test_warnings_of_peers_are_not_ours(monkeypatch):
    def noisy(_asked):
        warnings.warn("grid too coarse", UserWarning, stacklevel=1)
        return {"value": 1.0, "claim": "upper", "about": "x", "unit": "y", "same_question": True}

    monkeypatch.setattr(_peers, "PEERS", (_peers.Peer("dp-accounting", "noisy", noisy),))
    assert answers_to(POISSON, delta=1e-5)["noisy"]["value"] == 1.0


@pytest.mark.integrations
@pytest.mark.filterwarnings("default")
def test_the_real_peers_agree_where_they_are_asked_the_same(cli):
    from tests.integrations.packages import needs

    for module, package in (("opacus.accountants", "opacus"), ("prv_accountant", "prv-accountant")):
        try:
            needs(module, package)
        except pytest.skip.Exception as missing:
            pytest.skip(str(missing))
    result, peers = asked(cli)
    print()
    print(_peers.describe_peers(result["peers"], "epsilon"))
    ours = result["epsilon"]["upper"]
    for name, peer in peers.items():
        assert peer["same_question"], peer
        if name in ("Opacus PRV", "prv_accountant"):
            assert ours <= peer["value"] <= ours + 0.021  # its stated error is 0.01
        elif name == "Opacus GDP":
            assert peer["value"] < ours  # a central limit, and here too small
        else:
            assert ours <= peer["value"]
