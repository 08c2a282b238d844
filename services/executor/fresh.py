"""Host processes that nothing has run in yet, and the questions that each of them answers once."""

import asyncio
from collections.abc import Callable

from rocketconnect_kit.logs import get_logger
from services.executor.messages import Event, Question
from services.executor.process import HostProcess
from services.executor.scratch import Scratch

_log = get_logger(__name__)


class PluginLate(Exception):
    """The plugin did not answer in time; its process was ended."""


class PluginCrashed(Exception):
    """The process ended without an answer; the message says how."""


class FreshHosts:
    """Gives out fresh host processes. One idle one is kept ready, since a start takes a third of a second.

    Args:
        scratch: Gives each its folder for temporary files.
        at_most: So many questions are answered at a time; further ones wait for their turn.
    """

    def __init__(self, scratch: Scratch, at_most: int = 4) -> None:
        self._scratch = scratch
        self._turns = asyncio.Semaphore(at_most)
        self._spare: HostProcess | None = None
        self._living: set[HostProcess] = set()
        self._closed = False

    def take(self, on_event: Callable[[Event], None], on_exit: Callable[[str], None]) -> HostProcess:
        """Return a process for the caller alone, which must end it.

        Raises:
            OSError: no process could be started.
        """
        host, self._spare = self._spare or self._start(), None
        host.on_event, host.on_exit = on_event, on_exit
        self.keep_one_ready()
        return host

    def keep_one_ready(self) -> None:
        """Start the spare process if there is none."""
        if self._spare is not None or self._closed:
            return
        try:
            self._spare = self._start()
        except OSError as error:
            # Nobody waits for this one; who needs one tries again and gets the error.
            _log.warning("no spare host process could be started", cause=str(error))

    def replace_spare(self) -> None:
        """Put a new process in the place of the spare: what it may have loaded is out of date."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill("it was replaced")
        self.keep_one_ready()

    async def ask(self, question: Question, seconds: float, what: str) -> Event:
        """Return the answer of a fresh process to one question.

        Args:
            question: What to ask.
            seconds: How long the plugin may take.
            what: For the log of what it prints.

        Raises:
            PluginLate: it did not answer in time.
            PluginCrashed: it ended without an answer, or could not be started.
        """
        async with self._turns:
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

    async def close(self) -> None:
        """End all that are left, those that were given out as well."""
        self._closed, self._spare = True, None
        while self._living:
            for host in list(self._living):
                host.kill("the executor ends")
                await host.wait()

    def _start(self) -> HostProcess:
        def forget(reason: str) -> None:
            if self._spare is host:
                _log.warning("the spare host process ended", cause=reason)
                self._spare = None

        host = HostProcess(self._scratch.folder(), lambda _event: None, forget)
        self._living.add(host)
        host.when_gone(lambda: self._living.discard(host))
        return host


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
