"""Connector states as the command line shows them, and waiting for one."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.output import without_prefix
from rocketconnect_sdk.wording.counts import counted
from rocketconnect_sdk.wording.sizes import about, size

POLL_SECONDS = 0.25
MESSAGES = "messages"
BYTES = "bytes"


class State(StrEnum):
    """What a connector or a task can be seen doing: the API's states as people read them."""

    UNASSIGNED = "UNASSIGNED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    IDLE = "IDLE"
    WAITING = "WAITING"
    STALLED = "STALLED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"


DONE = (State.RUNNING, State.IDLE)
UNDER_WAY = (*DONE, State.WAITING, State.STALLED, State.PAUSED)
"""A task in one of these measures its rates and its lag; in any other nobody does."""


def state_name(item: dict[str, Any]) -> str:
    """RUNNING for {"state": "STATE_RUNNING"}."""
    return without_prefix(item.get("state"), "STATE_") or "UNKNOWN"


def get_state(api: Api, name: str) -> dict[str, Any]:
    """The state of a connector with its tasks."""
    return dict(api.request("GET", f"{connector_path(name)}/state", like={"state": {"state": ""}})["state"])


def counter(task: dict[str, Any], field: str) -> int:
    """A counter of a task. 64-bit numbers are texts in JSON."""
    return int(task.get("metrics", {}).get(field, 0))


def whole(tasks: Iterable[dict[str, Any]], field: str) -> int:
    """A counter of all tasks of a connector, of each since it was started last."""
    return sum(counter(task, field) for task in tasks)


@dataclass(frozen=True, slots=True)
class Lag:
    """How far behind a task is.

    Attributes:
        amount: How much.
        unit: Of what, in the plural; empty: it is not known.
        seconds: For how long, about; None: it is not known.
    """

    amount: int
    unit: str
    seconds: float | None = None

    def __str__(self) -> str:
        """Of messages, as it always was, the number alone."""
        if self.unit in ("", MESSAGES):
            return str(self.amount)
        return size(self.amount) if self.unit == BYTES else counted(self.amount, self.unit.removesuffix("s"))

    @property
    def with_time(self) -> str:
        """What is left, and for about how long where that is known: "1.2 GB left, about 3 min"."""
        return str(self) if self.seconds is None or not self.amount else f"{self} left, {about(self.seconds)}"


def lag(task: dict[str, Any]) -> Lag | None:
    """The messages that a sink task is behind, over all its queues, or what a source task has not read.

    None as long as it has not said so in this run, or does not know it.
    """
    metrics = task.get("metrics", {})
    queues = metrics.get("lags", [])
    if state_name(task) not in UNDER_WAY:
        return None
    if queues:
        return Lag(sum(int(queue.get("messages", 0)) for queue in queues), MESSAGES)
    if metrics.get("sourceRemainingKnown"):
        left = metrics.get("sourceTimeLeft")
        seconds = None if left is None else float(str(left).removesuffix("s"))
        return Lag(counter(task, "sourceRemaining"), str(metrics.get("sourceRemainingUnit", "")), seconds)
    return None


def whole_lag(tasks: Sequence[dict[str, Any]]) -> Lag | None:
    """That of all tasks of a connector; None: that of one of them is not known, or there are none."""
    lags = [lag(task) for task in tasks]
    known = [each for each in lags if each is not None]
    if not known or len(known) < len(lags):
        return None
    return Lag(sum(each.amount for each in known), known[0].unit)


def rate(task: dict[str, Any]) -> float | None:
    """Records a second that a task moves; None while nobody measures it."""
    return float(task.get("metrics", {}).get("rateOut", 0)) if state_name(task) in UNDER_WAY else None


def wait_for(
    api: Api,
    name: str,
    wanted: Collection[str],
    timeout: float,
    seen: Callable[[dict[str, Any]], object] = lambda _: False,
    revision: int = 0,
    altogether: float | None = None,
) -> dict[str, Any]:
    """Waits until the connector is in one of the wanted states.

    Args:
        api: The client.
        name: The connector.
        wanted: State names.
        timeout: Seconds.
        seen: Called with each state that was read; whether people know by it why the connector is in it.
        revision: What its tasks run must be this revision or a later one.
        altogether: The time of which this timeout is the rest, for people.

    Raises:
        ApiError: FAILED when it is FAILED and that is not wanted, nor STOPPED, which comes after it; TIMEOUT.
    """
    deadline = time.monotonic() + timeout
    while True:
        state = get_state(api, name)
        is_told = seen(state)
        now = state_name(state)
        if now in wanted and int(state.get("revision") or 0) >= revision:
            return state
        trace = state.get("trace", "")
        if now == State.FAILED and State.STOPPED not in wanted:
            raise ApiError(Exit.FAILED, {"detail": f"{name} is FAILED: {trace}"})
        if time.monotonic() > deadline:
            text = (
                f"{name} is {now} after {timeout if altogether is None else altogether:g} s, not {' or '.join(sorted(wanted))}"
                + (f": {trace}" if trace and not is_told else "")
            )
            raise ApiError(Exit.TIMEOUT, {"detail": text})
        time.sleep(POLL_SECONDS)
