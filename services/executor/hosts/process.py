"""One host process, as the executor holds it: started, told, listened to, and ended together with all that it started."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocketconnect_kit.logs import pass_on
from services.executor.contract.messages import LINE_LIMIT, Event, Exit, Order, decode_event, encode
from services.executor.contract.said import decode
from services.executor.hosts.forks import Forks
from services.executor.hosts.output import copy_lines
from services.executor.hosts.scratch import remove

_GRACE_SECONDS = 3.0
"""How long what a host started (Spark's Java process) may take to clean up and end after it."""

_REASONS = {
    Exit.LEASE_LOST: "it ended itself: the lease of the worker was over and a write to a target was still under way",
    Exit.SPARK_GONE: "the Java process of its Spark driver died",
    Exit.SPARK_LATE: "its Spark driver did not start in time; what it printed is in the log of the executor",
    Exit.PARENT_GONE: "it lost its connection to the executor",
}

_PRINTED = "rocketconnect.host"
"""Under which lines are logged that are no records: what plugins print, and Spark's Java process."""


class HostProcess:
    """A running host. Make it in the main thread of a running loop: hosts die with the thread that started them.

    Args:
        forks: Starts it.
        scratch: The folder of its temporary files; removed after it.
        on_event: Gets every event, in order.
        on_exit: Called once, after the last event: the process is gone, and why.
    """

    def __init__(self, forks: Forks, scratch: Path, on_event: Callable[[Event], None], on_exit: Callable[[str], None]) -> None:
        self.on_event = on_event
        self.on_exit = on_exit
        self.label = "no task"
        self.tasks: Mapping[str, Mapping[str, Any]] = {}
        """What is said of each task of it, by the name of its thread."""
        self.has_spoken = False
        self._scratch = scratch
        self._silent = 0
        self._killed = ""
        self._orders: asyncio.Queue[bytes] = asyncio.Queue()
        self._pid, self._socket, self._output = forks.start(scratch)
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        exited = asyncio.Event()
        threading.Thread(target=_wait, args=(self.pid, loop, exited), name=f"wait for host {self.pid}", daemon=True).start()
        self._reading = asyncio.create_task(self._read())
        self._writing = asyncio.create_task(self._write())
        self._copying = asyncio.create_task(self._copy_output())
        self._watching = asyncio.create_task(self._watch(exited))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._pid

    def send(self, *orders: Order) -> None:
        """Send orders; what a process that is gone does not read is lost, and on_exit tells."""
        self._orders.put_nowait(b"".join(map(encode, orders)))

    def missed(self) -> int:
        """Count one more interval in which nothing was heard from it; return how many there were in a row."""
        self._silent += 1
        return self._silent

    def kill(self, why: str) -> None:
        """End it and all that it started, at once. `why` becomes the reason that on_exit gets."""
        self._killed = self._killed or why
        _kill_group(self.pid)

    def close(self) -> None:
        """Let it end: it sees that its socket is closed, and what it started can clean up."""
        self._writing.cancel()
        self._socket.shutdown(socket.SHUT_RDWR)

    async def wait(self) -> None:
        """Return when it and all that it started are gone."""
        await asyncio.wait([self._watching])

    def when_gone(self, tell: Callable[[], None]) -> None:
        """Call `tell` when it and all that it started are gone."""
        self._watching.add_done_callback(lambda _task: tell())

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            data = await self._orders.get()
            try:
                await loop.sock_sendall(self._socket, data)
            except OSError:
                # It is ending; on_exit tells why.
                return

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        rest = b""
        while True:
            try:
                data = await loop.sock_recv(self._socket, 1 << 18)
            except OSError:
                data = b""
            if not data:
                return None
            self._silent = 0
            self.has_spoken = True
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > LINE_LIMIT:
                return self.kill(f"it sent more than {LINE_LIMIT} bytes as one message")
            try:
                for line in lines:
                    self.on_event(decode_event(line))
            except msgspec.MsgspecError as error:
                return self.kill(f"it sent what is no message: {error}")

    async def _copy_output(self) -> None:
        await copy_lines(os.fdopen(self._output, "rb", buffering=0), self._tell)

    def _tell(self, text: str) -> None:
        said = decode(text)
        tasks = self.tasks
        about = tasks.get(said.thread) if said is not None else None
        if about is None:
            about = next(iter(tasks.values())) if len(tasks) == 1 else {"of": self.label}
        if said is None:
            pass_on(_PRINTED, logging.INFO, text, host=self.pid, **about)
        else:
            pass_on(said.logger, said.level, said.message, exception=said.exception, host=self.pid, **about)

    async def _watch(self, exited: asyncio.Event) -> None:
        await exited.wait()
        _, status = await asyncio.to_thread(os.waitpid, self.pid, 0)
        # What it said last is still to be read. A process that it left behind may hold its ends open, hence the limit.
        await asyncio.wait([self._reading, self._copying], timeout=0.5)
        for task in (self._reading, self._writing, self._copying):
            task.cancel()
        await asyncio.wait([self._reading, self._writing, self._copying])
        self._socket.close()
        self.on_exit(self._killed or _reason(self.pid, os.waitstatus_to_exitcode(status)))
        await self._end_group()

    async def _end_group(self) -> None:
        for _ in range(int(_GRACE_SECONDS / 0.1)):
            if self._killed or not _group_lives(self.pid):
                break
            await asyncio.sleep(0.1)
        _kill_group(self.pid)
        await asyncio.to_thread(_reap_group, self.pid)
        await asyncio.to_thread(remove, self._scratch)


def _wait(pid: int, loop: asyncio.AbstractEventLoop, exited: asyncio.Event) -> None:
    # Without reaping it: as long as it is not reaped, its id is not given to another process.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        loop.call_soon_threadsafe(exited.set)
    except RuntimeError:
        # The loop has ended, and with it everybody who wanted to know.
        return


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        # Nothing of it is left.
        return


def _reap_group(pid: int) -> None:
    """Wait for what was killed: this process has become its parent (see forks.py)."""
    try:
        while True:
            os.waitpid(-pid, 0)
    except ChildProcessError:
        # There is nothing more.
        return


def _group_lives(pid: int) -> bool:
    try:
        while os.waitpid(-pid, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        # What is left of it, if anything, is nobody's yet, or another process's.
        pass
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _reason(pid: int, code: int) -> str:
    what = f"the host process (pid {pid}) is gone: "
    if code in _REASONS:
        return what + _REASONS[Exit(code)]
    if code >= 0:
        return f"{what}it ended with exit status {code}; what it printed is in the log of the executor"
    name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
    if name == "SIGKILL":
        return f"{what}it was killed (SIGKILL); if nobody did that, the machine ran out of memory: see the log of its kernel"
    return f"{what}it was ended by {name}; what it printed is in the log of the executor"
