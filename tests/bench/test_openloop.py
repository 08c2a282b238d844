"""Load on a schedule, with a clock that stands still unless it is moved."""

import pytest

from bench.measuring.openloop import drive, percentile


class Pipe:
    """Delivers at once, except in a stall, after which everything comes together."""

    def __init__(self, stall: tuple[float, float] = (0.0, 0.0), *, stops_the_sender: bool = False) -> None:
        self.now = 100.0
        self.sent = 0
        self._stall = stall
        self._stops_the_sender = stops_the_sender

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def send(self, number: int) -> None:
        assert number == self.sent
        self.sent += 1
        begin, end = self._stall
        if self._stops_the_sender and begin <= self.now - 100.0 < end:
            self.now = 100.0 + end

    def arrived(self) -> int:
        begin, end = self._stall
        return 0 if begin <= self.now - 100.0 < end else self.sent


def test_lines_are_sent_at_their_times_whatever_arrives() -> None:
    pipe = Pipe(stall=(0.0, 1.0))
    delays = drive(100.0, 200, pipe.send, pipe.arrived, 5.0, lambda: pipe.now, pipe.sleep)
    assert max(delays.late_seconds) < 0.001
    assert max(delays.seconds) == pytest.approx(1.0, abs=0.01)


def test_a_stall_of_the_receiver_counts_for_every_line_that_was_due_in_it() -> None:
    pipe = Pipe(stall=(0.5, 1.0))
    seconds = drive(100.0, 200, pipe.send, pipe.arrived, 5.0, lambda: pipe.now, pipe.sleep).seconds
    assert sum(delay > 0.01 for delay in seconds) == pytest.approx(50, abs=2)
    assert sum(delay > 0.25 for delay in seconds) == pytest.approx(25, abs=2)


def test_a_stall_of_the_sender_counts_as_well() -> None:
    """Where each line's time begins when it could be sent, this one shows in a single delay, if at all."""
    pipe = Pipe(stall=(0.5, 1.0), stops_the_sender=True)
    delays = drive(100.0, 200, pipe.send, pipe.arrived, 5.0, lambda: pipe.now, pipe.sleep)
    assert sum(delay > 0.25 for delay in delays.seconds) == pytest.approx(25, abs=2)
    assert delays.figures()["load_late_p99_ms"] > 400


def test_what_does_not_arrive_ends_the_load() -> None:
    pipe = Pipe(stall=(0.0, 1e9))
    with pytest.raises(TimeoutError, match="0 of 10 lines"):
        drive(100.0, 10, pipe.send, pipe.arrived, 2.0, lambda: pipe.now, pipe.sleep)


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([float(number) for number in range(1, 1001)], 0.99) == 990.0
    assert percentile([5.0], 0.999) == 5.0
