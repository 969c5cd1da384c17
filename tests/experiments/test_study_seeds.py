"""Seeds that nobody picked."""

import hashlib

import pytest

import dp2theory
from dp2theory.experiments.seeds import SEED_LIMIT, derived_seeds


def test_they_are_read_off_the_hash_of_the_version():
    digest = hashlib.sha256(f"{dp2theory.__version__}/tuning/0".encode()).digest()
    assert derived_seeds("tuning", 1) == (int.from_bytes(digest[:8], "big") % 2**53,)


def test_texts_and_purposes_give_other_seeds_and_more_seeds_begin_alike():
    seeds = derived_seeds("tuning", 40, text="a")
    assert len(set(seeds)) == 40
    assert max(seeds) < SEED_LIMIT
    assert derived_seeds("tuning", 3, text="a") == seeds[:3]
    assert not set(seeds) & set(derived_seeds("evaluation", 40, text="a"))
    assert not set(seeds) & set(derived_seeds("tuning", 40, text="b"))


@pytest.mark.parametrize("bad", [{"count": 0}, {"count": 1, "text": ""}])
def test_nothing_comes_of_nothing(bad):
    with pytest.raises(ValueError):
        derived_seeds("tuning", **bad)
