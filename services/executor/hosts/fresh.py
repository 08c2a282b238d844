"""Host processes that nothing has run in yet, and the questions that each of them answers once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from rocketconnect_kit.errors import ResourceExhausted
from rocketconnect_kit.logs import get_logger
from services.executor.contract.messages import Event
from services.executor.contract.questions import Question
from services.executor.hosts import packages
from services.executor.hosts.forks import Forks
from services.executor.hosts.process import HostProcess
from services.executor.hosts.scratch import Scratch, remove

MOST_WAITING = 64
"""So many questions wait at most: each takes about a second, and who asks waits for less than a minute."""
_log = get_logger(__name__)


class PluginLate(Exception):
    """The plugin did not answer in time; its process was ended."""


class PluginCrashed(Exception):
    """The process ended without an answer; the message says how."""


class FreshHosts:
    """Gives out fresh host processes. Make it in the main thread of a running loop.

    Args:
        scratch: Gives each its folder for temporary files.
        environment: Theirs.
        at_most: So many questions are answered at a time; further ones wait for their turn.
    """

    def __init__(self, scratch: Scratch, environment: Mapping[str, str], at_most: int = 4) -> None:
        self._scratch = scratch
        self._environment = environment
        self._turns = asyncio.Semaphore(at_most)
        self._waiting = 0
        self._loading = asyncio.Lock()
        self._packages = self._copied()
        self._forks = Forks(self._environment, self._packages)
        self._living: dict[HostProcess, Path | None] = {}
        """And the packages that each has begun with."""
        self.edition = 0
        """Higher when hosts begin with what was installed later."""

    def take(self, on_event: Callable[[Event], None], on_exit: Callable[[str], None]) -> HostProcess:
        """Return a process for the caller alone, which must end it.

        Raises:
            OSError: no process could be started.
        """
        host = HostProcess(self._forks, self._scratch.folder(), on_event, on_exit)
        self._living[host] = self._packages
        host.when_gone(lambda: self._forget(host))
        return host

    async def load_anew(self) -> None:
        """Let hosts from now on begin with what is installed now."""
        async with self._loading:
            before, self._packages = self._packages, await asyncio.to_thread(self._copied)
        self._forks.end()
        self._forks = Forks(self._environment, self._packages)
        self.edition += 1
        self._tidy(before)

    def _copied(self) -> Path | None:
        try:
            return packages.copied(self._scratch.path)
        except OSError as error:
            _log.warning("packages of plugins can't be copied: tasks use them where they are installed", cause=str(error))
            return None

    def _forget(self, host: HostProcess) -> None:
        self._tidy(self._living.pop(host, None))

    def _tidy(self, folder: Path | None) -> None:
        """Remove packages that nobody begins with any more, when nobody runs who did."""
        if folder is not None and folder != self._packages and folder not in self._living.values():
            remove(folder)

    async def ask(self, question: Question, seconds: float, what: str) -> Event:
        """Return the answer of a fresh process to one question.

        Args:
            question: What to ask.
            seconds: How long the plugin may take.
            what: For the log of what it prints.

        Raises:
            PluginLate: it did not answer in time.
            PluginCrashed: it ended without an answer, or could not be started.
            ResourceExhausted: TOO_MANY_CHECKS: so many wait for their turn that this one would not have it in time.
        """
        async with self._turn():
            answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
            try:
                host = self.take(_keep(answer), _no_answer(answer))
            except OSError as error:
                msg = f"no host process could be started: {error}"
                raise PluginCrashed(msg) from error
            host.label = what
            try:
                host.send(question)
                async with asyncio.timeout(seconds):
                    return await answer
            except TimeoutError as error:
                msg = (
                    f"the plugin did not answer in {seconds:.0f} s, and its process was ended: the machine may be too busy, or a "
                    "system that the plugin asks does not answer; try again"
                )
                raise PluginLate(msg) from error
            finally:
                # Also when the caller gave up: nothing of the plugin stays behind.
                host.kill("its question is answered")
                if answer.done() and not answer.cancelled():
                    answer.exception()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            msg = f"{MOST_WAITING} checks of configurations, previews and comparisons wait for this executor; try again in a moment"
            raise ResourceExhausted("TOO_MANY_CHECKS", msg)
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()

    async def close(self) -> None:
        """End all that are left, those that were given out as well."""
        self._forks.end()
        while self._living:
            for host in list(self._living):
                host.kill("the executor ends")
                await host.wait()


def _keep(answer: "asyncio.Future[Event]") -> Callable[[Event], None]:
    def keep(event: Event) -> None:
        if not answer.done():
            answer.set_result(event)

    return keep


def _no_answer(answer: "asyncio.Future[Event]") -> Callable[[str], None]:
    def tell(reason: str) -> None:
        if not answer.done():
            answer.set_exception(PluginCrashed(reason))

    return tell
