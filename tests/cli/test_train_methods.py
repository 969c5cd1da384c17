"""`dp2theory train` with the less common methods: their own noise, settings by name, samplings."""

import pytest

from tests.cli.conftest import validate

PROBLEM = "--problem het:n=1500,d=20,amin=1/10,avg=4,seed=7 --batch-size 100 --steps 40"
TRAIN = f"train {PROBLEM}"


def result(outcome):
    return outcome.document["result"]


def test_at_equal_epsilon_a_method_with_two_releases_a_step_has_more_noise(cli):
    outcome = cli(
        TRAIN, "--method dp2-rmsprop-extra-noise --compare dp2-rmsprop --epsilon 3 --json"
    )
    validate(outcome.document)
    found = result(outcome)
    for arm in (found["method"], found["compare"]):
        assert 3 * (1 - 1e-6) < arm["epsilon"]["upper"] <= 3
    sigma, plain = (found[arm]["settings"]["noise_multiplier"] for arm in ("method", "compare"))
    assert found["noise_multiplier"] == sigma > 1.3 * plain
    text = cli(TRAIN, "--method dp2-rmsprop-extra-noise --compare dp2-rmsprop --epsilon 3").out
    assert f"noise multiplier = {sigma!r}" in text
    assert f"noise multiplier of dp2-rmsprop = {plain!r}" in text


def test_at_equal_noise_it_costs_more(cli):
    found = result(
        cli(TRAIN, "--method dp2-rmsprop-extra-noise --compare dp2-rmsprop",
            "--noise-multiplier 1.2 --json")
    )  # fmt: skip
    assert found["method"]["epsilon"]["lower"] > found["compare"]["epsilon"]["upper"]


def test_settings_by_name(cli):
    found = result(cli(TRAIN, "--method dp-adam --set learning_rate=0.02 --epsilon 3 --json"))
    assert found["method"]["settings"]["learning_rate"] == 0.02
    both = result(
        cli(TRAIN, "--method dp-sgd --compare dp2-rmsprop --compare-set delay=2 --epsilon 3 --json")
    )
    assert both["compare"]["settings"]["delay"] == 2


def test_momentum_and_decay_are_settings_of_every_method(cli):
    words = "--method dp-sgd --epsilon 3 --set momentum=0.5 --set learning_rate_schedule=linear"
    found = result(cli(TRAIN, words, "--json"))
    assert found["method"]["settings"]["method"] == "dp-sgd+momentum+linear-decay"
    text = cli(TRAIN, words).out
    assert "momentum 0.5" in text
    assert "schedule linear" in text


@pytest.mark.parametrize("sampling", ["without-replacement", "with-replacement"])
def test_batches_of_fixed_size(cli, sampling):
    found = cli(TRAIN, f"--method dp-sgd --epsilon 3 --sampling {sampling} --json").document
    assert found["inputs"]["relation"]["value"] == "replace-one"
    sigma = found["result"]["noise_multiplier"]
    account = cli(
        "account --dataset-size 1500 --batch-size 100 --steps 40 --tightness fast --json",
        f"--sampling {sampling} --noise-multiplier {sigma!r}",
    ).document["result"]
    assert found["result"]["epsilon"] == account["epsilon"]


def test_groups_of_records(cli):
    words = "--method dp2-rmsprop --noise-multiplier 1.5 --group-size 3"
    outcome = cli(TRAIN, words, "--json").document
    group, alone = outcome["result"]["group"], outcome["result"]["epsilon"]
    account = cli(
        "account --dataset-size 1500 --batch-size 100 --steps 40 --noise-multiplier 1.5",
        "--group-size 3 --json",
    ).document["result"]
    assert group == {"size": 3, "epsilon": account["epsilon"]}
    assert group["epsilon"]["lower"] > 2 * alone["upper"]
    assert outcome["inputs"]["unit_of_privacy"]["value"] == "a record"  # of the budget
    assert (
        f"for groups of 3 records: epsilon of one dp2-rmsprop run in [{group['epsilon']['lower']!r}"
        in (cli(TRAIN, words).out)
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--method dp-sgd --epsilon 3 --set delay", "--set delay: must be NAME=VALUE"),
        ("--method dp-sgd --epsilon 3 --set =3", "--set =3: must be NAME=VALUE"),
        (
            "--method dp-sgd --epsilon 3 --set delay=3",
            "no such setting, but clip_norm, learning_rate",
        ),
        ("--method dp-adam --epsilon 3 --set damping=nan", "damping"),
        ("--method dp-adam --epsilon 3 --set damping=word", "damping"),
        ("--method dp-adam --epsilon 3 --set damping=1 --set damping=2", "damping is given twice"),
        ("--method dp-adam --epsilon 3 --damping 1 --set damping=2", "contradicts --damping"),
        ("--method dp-sgd --epsilon 3 --set noise_multiplier=1", "comes from the run"),
        ("--method dp-sgd --epsilon 3 --compare-set delay=3", "--compare-set: needs --compare"),
        ("--method adadps --epsilon 3", "--public-share: wanted, adadps uses side information"),
        ("--method dp-sgd --compare pda-dpmd --epsilon 3", "--public-share: wanted, pda-dpmd"),
        ("--method adadps --epsilon 3 --public-share 1", "--public-share 1.0: must lie strictly"),
        ("--method dp-sgd --epsilon 3 --public-share nan", "--public-share nan: must lie"),
        ("--method dp2-rmsprop-extra-noise --pilot --epsilon 3", "cannot go on from a pilot"),
        ("--method dp-sgd --pilot --epsilon 3 --set momentum=0.5", "the pilot has none"),
        ("--method dp-sgd --epsilon 3 --set momentum=1", "momentum"),
        ("--method dp-sgd --epsilon 3 --group-size 0", "--group-size 0: must be"),
        (
            "--method snapshot --epsilon 3 --set clip_norm=word",
            "clip_norm='word': must be a number",
        ),
        ("--method snapshot --epsilon 3 --set quantile=word", "quantile='word': must be a number"),
        ("--method dp-sgd --epsilon 3 --set clip_norm=true", "clip_norm=True: must be a number"),
        ("--method nonsense --epsilon 3", "dp2-yogi"),
        (
            "--method snapshot --epsilon 3 --set snapshot_noise_multiplier=1e-200",
            "snapshot_noise_multiplier=1e-200 must be",
        ),
        ("--method snapshot --epsilon 3 --set floor=1e-323", "floor=1e-323"),
    ],
)
def test_refusals(cli, options, words):
    cli(TRAIN, options).refused(2, words)


def test_tuning_keeps_the_delay_that_the_noise_was_calibrated_for(cli):
    words = "--method dp2-rmsprop-extra-noise --epsilon 3 --tune --tune-seeds 1 --set delay=30"
    found = result(cli(TRAIN, words, "--json"))
    assert found["method"]["settings"]["delay"] == 30
    assert 3 * (1 - 1e-6) < found["epsilon"]["upper"] <= 3


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--method snapshot --set momentum=0.5", "--set momentum=0.5"),
        (
            "--method dp2-rmsprop --compare dp2-rmsprop-noise-aware --compare-set noise_floor=2",
            "--compare-set noise_floor=2",
        ),
    ],
)
def test_tuning_passes_over_no_setting(cli, words, complaint):
    cli(TRAIN, words, "--epsilon 3 --tune --tune-seeds 1").refused(2, complaint)


def test_shuffled_epochs_are_not_drawn(cli):
    cli(TRAIN, "--method dp-sgd --epsilon 3 --sampling shuffled-epochs").refused(5, "not supported")


def test_text_is_for_people(cli):
    shown = cli(TRAIN, "--method adadps --epsilon 3 --public-share 0.05").out
    assert "AdaDPS, public data" in shown
    assert "public (source " in shown
    assert "{" not in shown
    assert "epsilon of one adam run in [inf, inf]" in cli(TRAIN, "--method adam").out
