"""Which replica of a service leads: the real reign of a leader; the row in the store and the campaign are mirrored."""

from collections.abc import Callable
from typing import Any

from rocketconnect_kit.errors import Aborted, Unavailable
from rocketconnect_kit.leader.election import LEASE_SECONDS, RENEW_SECONDS, TRY_SECONDS, Reign
from tests.simulation.world import Future, Process, Steps, World


class Seat:
    """A durable store with a leader's row; transactions take turns. Mirrors kit/election.Seat and require_term."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.term = 0
        self.until = 0.0
        self.away_until = 0.0

    def transact(self, process: Process, act: Callable[[], Any]) -> Future:
        """Let something happen in the store. It is sent now, and happens also when the process is stopped or dies meanwhile.

        While the store is away nobody knows whether it has happened.
        """
        world, answer = self._world, Future()
        delay = world.random.choice((0.0005, 0.001, 0.005))

        def happen() -> None:
            away = world.now < self.away_until
            value: object = Unavailable("STORE_UNAVAILABLE", "the store is away")
            if not away or world.random.random() < 0.3:
                try:
                    done = act()
                except Aborted as error:
                    done = error
                value = value if away else done
            world.at(world.now + delay, lambda: answer.set(value), process)

        world.at(world.now + delay, happen)
        return answer

    def require_term(self, term: int) -> None:
        if self.term != term:
            raise Aborted("TERM_OVER", "another one leads now")

    def take(self) -> int | None:
        if self.until > self._world.now:
            return None
        self.term += 1
        self.until = self._world.now + LEASE_SECONDS
        return self.term

    def renew(self, term: int) -> bool:
        if self.term == term:
            self.until = self._world.now + LEASE_SECONDS
        return self.term == term

    def release(self, term: int) -> None:
        if self.term == term:
            self.until = 0.0


class Election:
    """Mirrors kit/election.Election: `lead` is what a leader begins with, `end` what it does when it leads no longer."""

    def __init__(self, process: Process, seat: Seat, lead: Callable[[int], Steps], end: Callable[[], None]) -> None:
        self._process = process
        self._seat = seat
        self._lead = lead
        self._end = end
        self._reign = Reign(LEASE_SECONDS)
        self._is_open = False
        self._over = Future()
        process.spawn(self._campaign())

    @property
    def leads(self) -> bool:
        return self._is_open and self._reign.holds(self._process.boot_clock())

    def step_down(self) -> None:
        """What the leader does has ended: it can't go on."""
        self._over.set(None)

    def _campaign(self) -> Steps:
        while True:
            try:
                term = yield self._seat.transact(self._process, self._seat.take)
                if term is not None and (yield from self._renew(term)):
                    yield from self._serve(term)
            except Unavailable:
                pass
            yield TRY_SECONDS

    def _renew(self, term: int) -> Steps:
        asked = self._process.boot_clock()
        answer = self._seat.transact(self._process, lambda: self._seat.renew(term))
        self._process.point("election: a renewal is under way")
        renewed = yield answer
        if renewed:
            self._renewed(asked)
        return renewed

    def _renewed(self, asked: float) -> None:
        self._reign.renewed(asked)

    def _serve(self, term: int) -> Steps:
        self._over = Future()
        self._process.world.note(f"{self._process.name} leads term {term}")
        renewals = self._process.spawn(self._keep_renewing(term))
        leading = self._process.spawn(self._be_leader(term))
        while not self._over.done and (left := self._reign.until - self._process.boot_clock()) > 0:
            yield self._either(self._over, left)
        renewals.cancel()
        leading.cancel()
        self._reign.end()
        self._is_open = False
        self._end()
        self._process.world.note(f"{self._process.name} no longer leads term {term}")
        yield self._seat.transact(self._process, lambda: self._seat.release(term))

    def _be_leader(self, term: int) -> Steps:
        try:
            yield from self._lead(term)
        except Unavailable:
            self.step_down()
        else:
            self._is_open = True

    def _keep_renewing(self, term: int) -> Steps:
        while True:
            yield RENEW_SECONDS
            try:
                if not (yield from self._renew(term)):
                    return self.step_down()
            except Unavailable:
                pass  # the lease may last until the store is back

    def _either(self, future: Future, seconds: float) -> Future:
        first = Future()
        future.then(lambda: first.set(None))
        self._process.after(seconds, lambda: first.set(None))
        return first
