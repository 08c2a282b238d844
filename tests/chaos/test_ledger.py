from pathlib import Path
from typing import Any

from tests.chaos.ledger import Hit, Ledger, Round, time_to_recover
from tests.chaos.oracle import Verdict


def done(number: int, *, seed: int = 7, form: str = "fleet", verdict: Verdict | None = None, drained: float | None = 1.0) -> Round:
    hit = Hit("kill", "executor", "executor-1", {"native": 60}, {"native": 0.1}, flows=2.5, flows_after_heal=0.5)
    return Round(seed, number, form, "2026-01-01T00:00:00+00:00", [hit], verdict or Verdict(), drained)


def test_rounds_are_written_as_they_end_and_go_on_after_the_last_of_their_seed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    assert ledger.next_round(7, "fleet") == 1
    ledger.append(done(1))
    ledger.append(done(2))
    ledger.append(done(9, seed=8))
    assert (ledger.next_round(7, "fleet"), ledger.next_round(8, "fleet"), ledger.next_round(7, "up")) == (3, 10, 1)
    assert [line["ok"] for line in ledger.rounds()] == [True, True, True]


def test_a_round_is_bad_when_anything_is_wrong_or_does_not_end() -> None:
    assert done(1).ok
    assert not done(1, drained=None).ok
    assert not any(done(1, verdict=verdict).ok for verdict in (Verdict(1), Verdict(0, 1), Verdict(0, 0, 1), Verdict(0, 0, 0, 1)))


def test_recovery_counts_from_a_death_and_from_the_end_of_what_lasts() -> None:
    hit: dict[str, Any] = {"fault": "kill", "flows": 2.5, "flows_after_heal": 0.5}
    assert time_to_recover(hit) == 2.5
    assert time_to_recover({**hit, "fault": "pause"}) == 0.5
