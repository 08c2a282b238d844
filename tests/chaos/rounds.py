"""A round: load, faults while records are on their way, everything healed, everything drained, contents compared."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.states import state_name
from tests.chaos.faults.common import REORDERS, Deployment, Fault, Make, NoVictim
from tests.chaos.ledger import Hit, Round
from tests.chaos.load import Load

RECOVERY_SECONDS = 300.0
"""A Spark driver that is started on a busy machine takes minutes."""
_STUCK_SECONDS = 120.0
_QUIET_SECONDS = 2.0
_SETTLE_SECONDS = 1.5
_POLL_SECONDS = 0.03


@dataclass(slots=True)
class _UnderWay:
    fault: Fault
    hit: Hit
    began: float
    tick: int
    healed: float = 0.0
    healed_tick: int = 0


class Arena:
    """A deployment under load, for round after round.

    Args:
        deployment: Runs.
        load: Was started.
        api: Of its gateway.
        choices: The faults to choose from.
    """

    def __init__(self, deployment: Deployment, load: Load, api: Api, choices: Mapping[tuple[str, str], Make]) -> None:
        self._deployment = deployment
        self._load = load
        self._api = api
        self._choices = choices
        self._flying: dict[str, int] = {}

    def warm_up(self) -> None:
        """Return when every sink gets what is fed.

        Raises:
            TimeoutError
        """
        tick = self._load.now()
        if self._wait(lambda: self._load.arrived_after(tick), RECOVERY_SECONDS) is None:
            msg = f"nothing flows: {self._states()}"
            raise TimeoutError(msg)

    def round(self, seed: int, number: int, form: str, faults: int, choice: tuple[str, str] | None = None) -> Round:
        """One round of so many faults, soon after each other; `choice` stands for all of them, else seed and number choose."""
        random = Random(f"{seed}/{number}")
        done = Round(seed, number, form, datetime.now(UTC).isoformat(timespec="seconds"))
        deaths = getattr(self._deployment, "deaths", [])
        deaths.clear()
        before = self._tasks()
        under_way: list[_UnderWay] = []
        try:
            for _ in range(faults):
                target, name = choice or random.choice(sorted(self._choices))
                self._begin(done, under_way, self._choices[target, name](self._deployment, random), random)
            self._let_pass(under_way)
        finally:
            for each in under_way:
                each.fault.heal()
        self._see_recovery(done, under_way)
        self._load.pause()
        done.drained = self._drain()
        if done.drained is None:
            done.why = done.why or f"not drained: {self._load.in_flight()} on their way"
        done.verdict = self._load.check()
        if any(hit.fault in REORDERS for hit in done.hits):
            done.reordered, done.verdict = done.verdict.disordered, replace(done.verdict, disordered=0)
        done.states = self._states()
        if done.drained is not None and set(done.states) != self._load.connectors:
            done.why = done.why or "states could not be read"
        after = self._tasks()
        done.restarts = sum(max(0, restarts - before.get(task, (0, 0))[0]) for task, (restarts, _) in after.items())
        done.moves = sum(max(0, epoch - before.get(task, (0, 0))[1]) for task, (_, epoch) in after.items())
        done.deaths = list(deaths)
        bad = sorted(name for name, state in done.states.items() if state.startswith(("FAILED", "STALLED")))
        done.why = done.why or (f"not well at the end: {', '.join(bad)}" if bad else "")
        if done.ok:
            # Otherwise everything stays as it is, to be looked at.
            self._load.go_on()
        return done

    def _begin(self, done: Round, under_way: "list[_UnderWay]", fault: Fault, random: Random) -> None:
        """Inject a fault, while earlier ones may still last."""
        self._spend(random.uniform(0.5, 3.0), lambda: self._watch(under_way))
        try:
            fault.aim()
            # It only counts when records are on their way; at the first one that they move is demanded as well.
            if not under_way and self._wait(self._busy, 60) is None:
                done.note = f"nothing was on its way before {fault.name} {fault.target}: {self._load.in_flight()}"
                return
            in_flight = self._load.in_flight() if under_way else self._flying
            quiet = {name: round(seconds, 2) for name, seconds in self._load.quiet_seconds().items()}
            victim = fault.inject()
        except NoVictim as nobody:
            done.note = f"{fault.name} {fault.target}: {nobody}"
            return
        hit = Hit(fault.name, fault.target, victim, in_flight, quiet)
        done.hits.append(hit)
        under_way.append(_UnderWay(fault, hit, time.monotonic(), self._load.now()))

    def _watch(self, under_way: "list[_UnderWay]") -> None:
        """What a process that died has done may be done by another one long before it is back."""
        for each in under_way:
            if each.hit.flows is None and self._load.arrived_after(each.tick):
                each.hit.flows = round(time.monotonic() - each.began, 2)

    def _let_pass(self, under_way: "list[_UnderWay]") -> None:
        """Heal each fault when it has lasted its time."""
        for each in sorted(under_way, key=lambda each: each.began + each.fault.seconds):
            self._spend(each.began + each.fault.seconds - time.monotonic(), lambda: self._watch(under_way))
            each.fault.heal()
            each.healed, each.healed_tick = time.monotonic(), self._load.now()
            each.hit.lasted = round(each.healed - each.began, 2)

    def _see_recovery(self, done: Round, under_way: "list[_UnderWay]") -> None:
        def recovered() -> bool:
            self._watch(under_way)
            for each in under_way:
                if each.hit.flows_after_heal is None and self._load.arrived_after(each.healed_tick):
                    each.hit.flows_after_heal = round(time.monotonic() - each.healed, 2)
            return all(each.hit.flows is not None and each.hit.flows_after_heal is not None for each in under_way)

        if self._wait(recovered, RECOVERY_SECONDS) is None:
            hit = ", ".join(f"{each.hit.fault} {each.hit.victim}" for each in under_way)
            done.why = f"did not recover from {hit}: {self._load.in_flight()} on their way, {self._states()}"

    def _busy(self) -> bool:
        self._flying = self._load.in_flight()
        quiet = self._load.quiet_seconds()
        return all(count > 0 for count in self._flying.values()) and all(seconds < _QUIET_SECONDS for seconds in quiet.values())

    def _drain(self) -> float | None:
        """Seconds until every sink had everything and stayed so; None: it got stuck."""
        begin = moved = time.monotonic()
        last: dict[str, int] = {}
        quiet_since: float | None = None
        while True:
            self._deployment.look_after()
            left = self._load.in_flight()
            now = time.monotonic()
            if left != last:
                last, moved, quiet_since = left, now, None
            if not any(left.values()):
                quiet_since = quiet_since or now
                if now - quiet_since > _SETTLE_SECONDS:
                    return round(quiet_since - begin, 2)
            elif any(count < 0 for count in left.values()) and now - moved > 10:
                # More lines than were fed: the comparison says which.
                return round(now - begin, 2)
            elif now - moved > _STUCK_SECONDS:
                return None
            time.sleep(_POLL_SECONDS)

    def _wait(self, true: Callable[[], bool], seconds: float) -> float | None:
        begin = time.monotonic()
        while not true():
            if time.monotonic() - begin > seconds:
                return None
            self._deployment.look_after()
            time.sleep(_POLL_SECONDS)
        return time.monotonic() - begin

    def _spend(self, seconds: float, watch: Callable[[], object] = lambda: None) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._deployment.look_after()
            watch()
            time.sleep(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))

    def _listed(self) -> list[dict[str, Any]]:
        for _ in range(20):
            try:
                return list(self._api.pages("/v1/states", "states"))
            except ApiError:
                self._spend(0.5)
        return []

    def _states(self) -> dict[str, str]:
        return {state["connector"]: " ".join(filter(None, (state_name(state), state.get("trace")))) for state in self._listed()}

    def _tasks(self) -> dict[str, tuple[int, int]]:
        return {
            f"{state['connector']}/{task.get('task', 0)}": (int(task.get("restarts", 0)), int(task.get("epoch", 0)))
            for state in self._listed()
            for task in state.get("tasks", [])
        }
