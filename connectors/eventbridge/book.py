"""What is known of requests that are to be sent again: how often they were tried, and until when they wait. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from connectors.eventbridge.rules import RULE, TARGET
from rocketconnect_sdk.wording.counts import counted
from rocketconnect_sdk.writes import Operation

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0
_FORGOTTEN = 3600.0
"""Seconds after which nobody knows whether a target that was away has been so all the time."""


class Policy(NamedTuple):
    """How long a rule insists.

    Attributes:
        attempts: So often; None: any number of times.
        seconds: So long.
    """

    attempts: int | None
    seconds: float


@dataclass(slots=True)
class Tried:
    """What was tried in vain.

    Attributes:
        since: When that began.
        times: How often.
        why: What was wrong the last time.
        last: When that was.
        until: When it may be tried again.
    """

    since: float
    times: int = 0
    why: str = ""
    last: float = 0.0
    until: float = 0.0

    def failed(self, why: str, now: float, wait: float | None) -> None:
        """Once more, after which somebody may have asked to wait."""
        if self.times and now - self.last > _FORGOTTEN:
            self.since, self.times = now, 0
        self.until = now + max(wait or 0.0, min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(self.times, 16)))
        self.times, self.why, self.last = self.times + 1, why, now

    def is_over(self, policy: Policy, now: float) -> bool:
        """Whether a policy lets nobody try again."""
        return now - self.since >= policy.seconds or (policy.attempts is not None and self.times >= policy.attempts)

    def next(self, policy: Policy) -> float:
        """When something is to be done: it is tried, or given up."""
        return min(self.until, self.since + policy.seconds)

    def said(self, now: float) -> str:
        """Why it was given up, for people."""
        return f"given up after {counted(self.times, 'attempt')} in {now - self.since:.0f} s: {self.why}"


@dataclass(slots=True)
class Book:
    """What connections of one task leave to each other.

    Attributes:
        operations: Those that are written.
        left: The numbers of those that are neither done nor refused.
        refused: By number why one is.
        tried: By number those with which their target fails.
        away: By name the targets that take nothing.
        counts: By rule so many requests were done; "": so many records no rule matched.
        told: When these were told.
    """

    operations: Sequence[Operation] = ()
    left: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    tried: dict[int, Tried] = field(default_factory=dict)
    away: dict[str, Tried] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    told: float | None = None

    def open(self, operations: Sequence[Operation]) -> None:
        """Begins with operations, or goes on with those of the last time."""
        is_same = len(operations) == len(self.operations)
        if is_same and all(one is other for one, other in zip(operations, self.operations, strict=True)):
            return
        self.operations = operations
        self.left = [number for number, operation in enumerate(operations) if TARGET in operation.more]
        self.refused, self.tried = {}, {}
        for each in self.away.values():
            # Nothing is given up that was not tried once.
            each.until = 0.0

    def close(self) -> Mapping[int, str]:
        """Ends with operations of which none is left, and returns why some are refused."""
        for number, operation in enumerate(self.operations):
            rule = operation.more.get(RULE, "")
            self.counts[rule] = self.counts.get(rule, 0) + (number not in self.refused)
        self.operations = ()
        return self.refused

    def names(self, number: int) -> tuple[str, str]:
        """The rule and the target of an operation."""
        more = self.operations[number].more
        return more[RULE], more[TARGET]

    def due(self, now: float) -> Iterable[int]:
        """What may be sent now, that which was tried least first."""
        found = [number for number in self.left if all(each.until <= now for each in self._of(number))]
        return sorted(found, key=lambda number: self.tried[number].times if number in self.tried else 0)

    def refuse(self, number: int, why: str) -> None:
        """It will not be done."""
        rule, target = self.names(number)
        self.refused[number] = f"rule {rule}, target {target}: {why}"

    def give_up(self, policies: Mapping[str, Policy], now: float) -> None:
        """Refuses what no policy lets anybody try again."""
        left = []
        for number in self.left:
            over = [each for each in self._of(number) if each.is_over(policies[self.names(number)[0]], now)]
            if over:
                self.refuse(number, over[0].said(now))
            else:
                left.append(number)
        self.left = left

    def wait(self, policies: Mapping[str, Policy], now: float) -> float:
        """After how many seconds there is something to do, while something is left."""
        moments = [
            max((each.next(policies[self.names(number)[0]]) for each in self._of(number)), default=now) for number in self.left
        ]
        return max(_FIRST_WAIT, min(moments) - now)

    def why(self) -> str:
        """What is waited for, for people."""
        away = dict.fromkeys(self.names(number)[1] for number in self.left if self.names(number)[1] in self.away)
        reasons = [f"target {name}: {self.away[name].why}" for name in away]
        for number in self.left:
            if number in self.tried and not reasons:
                rule, target = self.names(number)
                reasons.append(f"rule {rule}, target {target}: {self.tried[number].why}")
        return f"{counted(self.left, 'request')} to be sent again: {'; '.join(reasons)}"

    def _of(self, number: int) -> list[Tried]:
        """What is known of an operation and of its target."""
        found = (self.away.get(self.names(number)[1]), self.tried.get(number))
        return [each for each in found if each is not None]
