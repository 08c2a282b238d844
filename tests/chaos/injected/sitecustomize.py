"""Failpoints: Python imports this file at the start of every process that the chaos harness starts, and of no other one.

The product knows nothing of it. A failpoint is a function of the product at whose begin, end or middle a process can be killed or
stopped; the function is wrapped when its module is imported. It is armed by a file FAILPOINTS/NAME that holds the number of a
signal: the first process that comes by renames it to NAME.PID and sends the signal to itself.

A clock is wrong by the seconds that the file CHAOS_CLOCK holds, while it is there: that of `time`, by which the product goes, and
neither that of `datetime` nor Java's.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

POINTS = {
    "source.before-send": ("rocketmq_remoting.client", "Client.send_batch_async", "before"),
    "source.in-send": ("rocketmq_remoting.connections.transport", "TcpTransport.write", "middle"),
    "source.after-send": ("rocketmq_remoting.client", "Client.send_batch_async", "after"),
    "source.before-commit": ("services.executor.runtime.source.loop", "SourceRun._put", "before"),
    "sink.before-append": ("rocketconnect_sdk.files.appended", "AppendedFile.append", "before"),
    "sink.before-manifest": ("rocketconnect_sdk.files.manifest", "ManifestLog.commit", "before"),
    "sink.after-manifest": ("rocketconnect_sdk.files.manifest", "ManifestLog.commit", "after"),
    "sink.before-position": ("services.executor.runtime.sink.loop", "SinkRun._count", "before"),
    "query.before-state": ("services.executor.runtime.sink.query.state", "StateFolder.save", "before"),
    "query.in-state": ("services.executor.runtime.sink.query.state", "write_all", "after"),
    "query.after-state": ("services.executor.runtime.sink.query.state", "StateFolder.save", "after"),
    "query.after-commit": ("services.executor.runtime.sink.query.state", "StateFolder.committed", "before"),
    "query.after-position": ("services.executor.runtime.sink.query.state", "StateFolder.stored", "before"),
    "position.after-store": ("services.position.store", "PositionStore._store_group", "after"),
    "cluster.after-store": ("services.cluster.store", "ClusterStore.write", "after"),
}
"""By name: module, function, and where in it. In the middle: half of the bytes that were to be written are."""


def _hit(point: str) -> None:
    armed = Path(os.environ["CHAOS_FAILPOINTS"]) / point
    try:
        number = int(armed.read_text())
        armed.rename(armed.with_name(f"{point}.{os.getpid()}"))
    except (OSError, ValueError):
        return
    # To this very thread: one to the process may be taken by another thread, and this one would go on for a moment.
    signal.raise_signal(number)


def _wrapped(point: str, where: str, function: Callable[..., Any]) -> Callable[..., Any]:
    armed = Path(os.environ["CHAOS_FAILPOINTS"]) / point

    def failing(*args: Any, **kwargs: Any) -> Any:
        if not armed.exists():
            return function(*args, **kwargs)
        if where == "before":
            _hit(point)
        elif where == "middle" and sum(map(len, args[1])) > 1000:
            data = b"".join(args[1])
            function(args[0], [data[: len(data) // 2]], *args[2:], **kwargs)
            _hit(point)
            return function(args[0], [data[len(data) // 2 :]], *args[2:], **kwargs)
        result = function(*args, **kwargs)
        if where == "after":
            _hit(point)
        return result

    return failing


def _wrap(module: ModuleType) -> None:
    for point, (name, path, where) in POINTS.items():
        if name == module.__name__:
            owner, _, last = path.rpartition(".")
            home = getattr(module, owner) if owner else module
            setattr(home, last, _wrapped(point, where, getattr(home, last)))


class _Wrapping(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _wrap(module)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in {module for module, _, _ in POINTS.values()}:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Wrapping(spec.loader)
        return spec


class _Clock:
    """Time by a clock that can be wrong; what the file holds is looked at ten times a second."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)
        self._due = 0.0
        self._wrong = 0
        self._time, self._time_ns = time.time, time.time_ns

    def wrong(self) -> int:
        """By so many seconds."""
        if time.monotonic() >= self._due:
            try:
                self._wrong = int(self._file.read_text())
            except FileNotFoundError:
                self._wrong = 0
            self._due = time.monotonic() + 0.1
        return self._wrong

    def time(self) -> float:
        return self._time() + self.wrong()

    def time_ns(self) -> int:
        return self._time_ns() + self.wrong() * 1_000_000_000


if "CHAOS_FAILPOINTS" in os.environ:
    sys.meta_path.insert(0, _Finder())
if "CHAOS_CLOCK" in os.environ:
    _clock = _Clock(os.environ["CHAOS_CLOCK"])
    time.time, time.time_ns = _clock.time, _clock.time_ns
