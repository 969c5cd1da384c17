"""The benchmark beside a JAX loop judges, and says what it could not run."""

from __future__ import annotations

import pytest

from benchmarks import dp2_loop


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dp2_loop, "ROUNDS", 1)
    monkeypatch.setattr(dp2_loop, "STEPS", 50)
    monkeypatch.setattr(dp2_loop, "RECORDS", 200)
    monkeypatch.setattr(dp2_loop, "one_core", lambda: None)  # the tests go on after this one
    monkeypatch.setattr(dp2_loop, "NOISE_BAR", 1e9)


def absent(data: object) -> dict[str, dp2_loop.Work]:
    raise ImportError("No module named 'jax'")


def idle(data: object) -> dict[str, dp2_loop.Work]:
    return {dp2_loop.JUDGED: lambda: None, "JAX one program": lambda: None}


def test_without_its_peer_a_bar_is_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dp2_loop, "peers", absent)
    assert dp2_loop.main() == 4
    out = capsys.readouterr().out
    assert "NOT RUN, No module named 'jax'" in out
    assert "MISSED" not in out
    monkeypatch.setattr(dp2_loop, "NOISE_BAR", 0.5)  # no step is faster than its noise
    assert dp2_loop.main() == 3
    assert capsys.readouterr().out.count("MISSED") == 1


def test_a_peer_that_does_nothing_is_not_beaten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dp2_loop, "peers", idle)
    assert dp2_loop.main() == 3
    out = capsys.readouterr().out
    assert out.count("MISSED") == 1
    assert "(not judged)" in out
    monkeypatch.setattr(dp2_loop, "RATIO_BAR", 0.0)
    assert dp2_loop.main() == 0
