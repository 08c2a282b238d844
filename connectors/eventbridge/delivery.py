"""Sends what rules make to their targets, each by the retry policy of its rule."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from logging import Logger

from connectors.eventbridge.book import Book, Policy, Tried
from connectors.eventbridge.target import End, Outcome, Target
from connectors.http.connection import lane_of
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.wording.counts import counted
from rocketconnect_sdk.writes import Connection, Operation

_IN_A_ROW = 3
"""With so many records one after the other a target fails before it is left alone for a while."""
_TOLD_SECONDS = 60.0
_Sent = list[tuple[int, Outcome]]


class EventBridgeConnection(Connection):
    """Sends requests to several targets: side by side, and to each in the order of the records.

    A record that a target refuses, or that is given up, is refused, with the rule and the target in the reason; what else becomes
    of the record is done. While the policy of a rule lets a request wait, `write` ends with SystemAway when all others are done.

    Args:
        targets: By their names.
        policies: By the names of the rules.
        book: What earlier connections of the task have left.
        log: Is told how many requests each rule made.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        targets: Mapping[str, Target],
        policies: Mapping[str, Policy],
        book: Book,
        log: Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._targets = targets
        self._policies = policies
        self._book = book
        self._log = log
        self._clock = clock
        lanes = sum(target.lanes for target in targets.values())
        self._threads = ThreadPoolExecutor(lanes) if lanes > 1 else None

    def ping(self) -> None:
        """See Connection: one target that answers is enough, since the others are waited for by the policies of rules."""
        reasons = []
        for name, target in self._targets.items():
            try:
                return target.ping()
            except (SystemAway, RetriableError, PermanentError) as error:
                reasons.append(f"target {name}: {error}")
        raise SystemAway("; ".join(reasons))

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        book = self._book
        book.open(operations)
        self._settle(self._sent())
        now = self._clock()
        book.give_up(self._policies, now)
        if book.left:
            raise SystemAway(book.why(), wait=book.wait(self._policies, now))
        refused = book.close()
        self._tell(now)
        return refused

    def close(self) -> None:
        """See Connection."""
        if self._threads is not None:
            self._threads.shutdown()
        for target in self._targets.values():
            target.close()

    def _sent(self) -> list[tuple[str, _Sent]]:
        """Sends what may be sent now; returns by lane the target, and how each ended."""
        lanes: dict[tuple[str, int], list[int]] = {}
        for number in self._book.due(self._clock()):
            _, name = self._book.names(number)
            lane = lane_of(self._book.operations[number], self._targets[name].lanes)
            lanes.setdefault((name, lane), []).append(number)
        if self._threads is None or len(lanes) == 1:
            return [(name, self._of_lane(name, lane, numbers)) for (name, lane), numbers in lanes.items()]
        running = [(name, self._threads.submit(self._of_lane, name, lane, numbers)) for (name, lane), numbers in lanes.items()]
        wait([each for _, each in running])
        return [(name, each.result()) for name, each in running]

    def _of_lane(self, name: str, lane: int, numbers: Sequence[int]) -> _Sent:
        """Sends one after the other until the target takes no more."""
        sent: _Sent = []
        failed = 0
        for number in numbers:
            outcome = self._targets[name].deliver(lane, self._book.operations[number])
            sent.append((number, outcome))
            failed = failed + 1 if outcome.end is End.FAILED else 0
            if outcome.end is End.AWAY or failed == _IN_A_ROW:
                break
        return sent

    def _settle(self, lanes: Sequence[tuple[str, _Sent]]) -> None:
        """Writes down how it ended."""
        book, now = self._book, self._clock()
        takes = {name for name, sent in lanes if any(outcome.end in (End.DONE, End.REFUSED) for _, outcome in sent)}
        for name in takes:
            book.away.pop(name, None)
        gone = set()
        for _, sent in lanes:
            for number, outcome in sent:
                if outcome.end is End.FAILED:
                    book.tried.setdefault(number, Tried(now)).failed(outcome.why, now, outcome.wait)
                elif outcome.end is not End.AWAY:
                    gone.add(number)
                if outcome.end is End.REFUSED:
                    book.refuse(number, outcome.why)
        for name in dict.fromkeys(name for name, _ in lanes):
            ends = [sent[-1][1] for other, sent in lanes if other == name and self._is_away(sent, name in takes)]
            if ends:
                waits = [outcome.wait for outcome in ends if outcome.wait is not None]
                book.away.setdefault(name, Tried(now)).failed(ends[0].why, now, max(waits, default=None))
        book.left = [number for number in book.left if number not in gone]

    @staticmethod
    def _is_away(sent: _Sent, takes: bool) -> bool:
        """Whether a lane has ended since the target takes nothing, or fails with whatever it is sent."""
        last = sent[-_IN_A_ROW:]
        fails = len(last) == _IN_A_ROW and all(outcome.end is End.FAILED for _, outcome in last)
        return sent[-1][1].end is End.AWAY or (fails and not takes)

    def _tell(self, now: float) -> None:
        """Says from time to time how many requests were made."""
        book = self._book
        if book.told is not None and now - book.told < _TOLD_SECONDS:
            return
        book.told = now
        sent = ", ".join(f"{rule} {count:,}" for rule, count in sorted(book.counts.items()) if rule) or "none"
        self._log.info("requests by rule: %s; %s matched by no rule", sent, counted(book.counts.get("", 0), "record"))
        book.counts.clear()
