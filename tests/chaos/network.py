"""Hosts: network namespaces behind a router of their own, with cuts in the router; and a proxy for delays.

Cuts are made by routing rules, so that packets vanish in silence as on a broken line. Delays would be netem's, which not every
kernel has: here they are made by a TCP proxy that stands between the hosts, in this process. Namespaces have no names; they are
gone with the processes in them, which die with this one. Needs root.
"""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from rocketconnect_kit.tethered import tethered

_CHUNK = 1 << 16
_SECONDS = 10.0


class Network:
    """This machine and further hosts, connected by a router. For the main thread: it is gone with it.

    Args:
        own: Names of addresses of this machine.
        hosts: Names of the others.
    """

    def __init__(self, own: Sequence[str], hosts: Sequence[str]) -> None:
        # Another harness may run beside this one.
        self._prefix = f"10.{100 + os.getpid() % 100}"
        self._mark = f"{os.getpid() % 100_000:x}"
        self.addresses: dict[str, str] = {}
        self._holders: list[subprocess.Popen[bytes]] = []
        self._pids: dict[str, int] = {}
        self._rules: list[list[str]] = []
        self._router = self._namespace()
        inside(self._router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        self._connect(0, own, None)
        for number, host in enumerate(hosts, 1):
            self._pids[host] = self._namespace()
            self._connect(number, [host], self._pids[host])

    def enter(self, host: str, command: Sequence[str]) -> list[str]:
        """The command line that runs a command on a host."""
        return ["nsenter", f"--net=/proc/{self._pids[host]}/ns/net", *command]

    def cut(self, pairs: Sequence[tuple[str, str]]) -> None:
        """From now on nothing gets from one address of a pair to the other, either way."""
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                rule = ["from", self.addresses[source], "to", self.addresses[target], "blackhole"]
                inside(self._router, "ip", "rule", "add", *rule)
                self._rules.append(rule)

    def mend(self) -> None:
        """Everything gets through again."""
        for rule in self._rules:
            inside(self._router, "ip", "rule", "del", *rule)
        self._rules.clear()

    def close(self) -> None:
        """Take it down."""
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def _namespace(self) -> int:
        self._holders.append(holder := namespace())
        return holder.pid

    def _connect(self, number: int, names: Sequence[str], pid: int | None) -> None:
        ours, routers = f"c{self._mark}h{number}", f"c{self._mark}r{number}"
        gateway = f"{self._prefix}.{number}.1"
        _run("ip", "link", "add", ours, "type", "veth", "peer", "name", routers)
        _run("ip", "link", "set", routers, "netns", str(self._router))
        if pid is not None:
            _run("ip", "link", "set", ours, "netns", str(pid))
        for index, name in enumerate(names, 2):
            self.addresses[name] = f"{self._prefix}.{number}.{index}"
            inside(pid, "ip", "address", "add", f"{self.addresses[name]}/24", "dev", ours)
        inside(pid, "ip", "link", "set", ours, "up")
        inside(self._router, "ip", "address", "add", f"{gateway}/24", "dev", routers)
        inside(self._router, "ip", "link", "set", routers, "up")
        inside(pid, "ip", "route", "add", "default" if pid is not None else f"{self._prefix}.0.0/16", "via", gateway)


def namespace() -> "subprocess.Popen[bytes]":
    """Return a process in a network namespace of its own, which has loopback alone; the one is gone with the other.

    For the main thread: it is gone with it.
    """
    holder = subprocess.Popen(tethered(["unshare", "--net", "sleep", "infinity"]), start_new_session=True)
    mine = Path("/proc/self/ns/net").readlink()
    deadline = time.monotonic() + _SECONDS
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == mine:
        if time.monotonic() > deadline or holder.poll() is not None:
            msg = "no network namespace could be made; this needs root (and Linux)"
            raise PermissionError(msg)
        time.sleep(0.02)
    inside(holder.pid, "ip", "link", "set", "lo", "up")
    return holder


def inside(pid: int | None, *command: str) -> None:
    """Run a command in the network of a process; None: in this one's."""
    _run(*([] if pid is None else ["nsenter", f"--net=/proc/{pid}/ns/net"]), *command)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        msg = f"{' '.join(command)}: {done.stderr.strip()}"
        raise PermissionError(msg)


class Proxy:
    """Passes connections on, in a thread of its own, late or not at all when it is told so.

    Attributes:
        delay: Seconds that each piece takes, in each direction.
    """

    def __init__(self, ways: Mapping[tuple[str, int], tuple[str, int]]) -> None:
        self.delay = 0.0
        self._ways = dict(ways)
        self._loop = asyncio.new_event_loop()
        self._open: asyncio.Event | None = None
        self._up = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()
        if not self._up.wait(_SECONDS):
            msg = f"the proxy could not listen at {list(self._ways)}"
            raise OSError(msg)

    def hold(self) -> None:
        """Nothing gets through, and nobody is told."""
        if self._open is not None:
            self._loop.call_soon_threadsafe(self._open.clear)

    def release(self) -> None:
        """Everything gets through again, what was held first."""
        if self._open is not None:
            self._loop.call_soon_threadsafe(self._open.set)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        for (host, port), target in self._ways.items():
            await asyncio.start_server(partial(self._pass, target), host, port)
        self._up.set()
        await asyncio.Event().wait()

    async def _pass(self, target: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._gate()
        try:
            far_reader, far_writer = await asyncio.open_connection(*target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._one_way(reader, far_writer), self._one_way(far_reader, writer))

    async def _gate(self) -> None:
        if self._open is not None:
            await self._open.wait()

    async def _one_way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)

        async def read() -> None:
            data = b"x"
            while data:
                try:
                    data = await reader.read(_CHUNK)
                except OSError:
                    data = b""
                await under_way.put((self._loop.time() + self.delay, data))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                await self._gate()
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # it is gone; so is the other way, by what its reader sees
        finally:
            reading.cancel()
            with suppress(OSError):
                writer.close()
