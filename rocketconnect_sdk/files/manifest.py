"""Manifests: what is durable in a target, in files with rising numbers.

Each manifest is the whole truth at its time: who owns the target, and the position of every queue whose messages are in it. A new
one is made with the next number and O_EXCL, so that of two writers one fails; and under a lock, so that nobody writes between
looking and making. The one with the highest number that is whole counts: one that was cut off by a crash never happened.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import OutsideRoots, Roots, writing
from rocketconnect_sdk.sink import QueuePosition, SinkCommit

_KEPT = 16
_LOCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Owner:
    """One run of one task.

    Attributes:
        connector_uid: The connector.
        generation: Of its plan.
        task: The number of the task.
        epoch: Of its assignment.
        connector: The name of the connector, for people.
    """

    connector_uid: str
    generation: int
    task: int
    epoch: int
    connector: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is durable.

    Attributes:
        number: From 1.
        connector_uid: Whose positions these are.
        generation: The newest plan generation that has claimed the target.
        epochs: By task of that generation: the epoch that has claimed it.
        tokens: By task: of the batch that it wrote last.
        queues: By "topic/broker/queue": the position behind what is in the target.
        state: What the target itself remembers, as JSON has it.
        connector: The name of the connector, for people; empty: it was written by a version that did not say it.
    """

    number: int
    connector_uid: str
    generation: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)
    tokens: Mapping[int, str] = field(default_factory=dict)
    queues: Mapping[str, QueuePosition] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    connector: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "number": self.number,
            "connector_uid": self.connector_uid,
            "generation": self.generation,
            "epochs": {str(task): epoch for task, epoch in self.epochs.items()},
            "tokens": {str(task): token for task, token in self.tokens.items()},
            "queues": {queue: position.to_json() for queue, position in self.queues.items()},
            "state": dict(self.state),
            "connector": self.connector,
        }


def manifest_from_json(form: Mapping[str, Any]) -> Manifest:
    """From what is stored.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no manifest.
    """
    return Manifest(
        form["number"],
        form["connector_uid"],
        form["generation"],
        {int(task): epoch for task, epoch in form["epochs"].items()},
        {int(task): token for task, token in form["tokens"].items()},
        {queue: QueuePosition.from_json(position) for queue, position in form["queues"].items()},
        form["state"],
        form.get("connector", ""),
    )


class ManifestLog:
    """The manifests of a target, as one task sees and writes them. Used by one thread.

    Args:
        directory: Where they are; made when the first one is written.
        owner: Who writes.
        exclusive: One task at a time has the target as a whole, of whatever connector. Otherwise the tasks of a connector share it,
            each with queues of its own.
    """

    def __init__(self, directory: Path, owner: Owner, *, exclusive: bool) -> None:
        self._directory = directory
        self._owner = owner
        self._exclusive = exclusive
        self._roots = writing()

    @contextmanager
    def locked(self) -> Iterator[Manifest | None]:
        """Nobody else changes the target within the block. Gives the newest manifest; None: there is none.

        The lock is the operating system's, so it is gone with the process that held it.

        Raises:
            SystemAway: another process holds it and does not go on: it was paused while it wrote.
        """
        with understood(self._directory):
            self._roots.make_folder(self._directory)
            lock = self._roots.open(self._directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            self._lock(lock)
            with understood(self._directory):
                newest = self._newest()
            yield newest
        finally:
            os.close(lock)

    def _lock(self, lock: int) -> None:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    msg = f"{self._directory}: another process is in the middle of a write and does not go on; continue or end it"
                    raise SystemAway(msg, wait=0.5) from None
                time.sleep(0.01)
            else:
                return

    def claim(self, newest: Manifest | None, state: Mapping[str, Any]) -> Manifest:
        """Makes the target this owner's: from now on every other one fails (invariant 3). Within `locked`.

        Raises:
            PermanentError: somebody newer has it.
        """
        owner = self._owner
        if newest is None or newest.connector_uid != owner.connector_uid:
            # Another connector's positions mean nothing here.
            last = Manifest(newest.number if newest else 0, owner.connector_uid)
        else:
            last = newest
            if (last.generation, last.epochs.get(owner.task, 0) if last.generation == owner.generation else 0) > (
                owner.generation,
                owner.epoch,
            ):
                self._refuse(newest)
        same = last.generation == owner.generation and not self._exclusive
        claimed = replace(
            last,
            number=last.number + 1,
            generation=owner.generation,
            epochs={**(last.epochs if same else {}), owner.task: owner.epoch},
            tokens=last.tokens,
            state=state,
            connector=owner.connector,
        )
        self._write(claimed)
        return claimed

    def mine(self, newest: Manifest | None) -> Manifest:
        """The newest manifest, if it is still this owner that may write. Within `locked`.

        Raises:
            PermanentError: somebody else has claimed the target.
        """
        owner = self._owner
        if (
            newest is None
            or (newest.connector_uid, newest.generation) != (owner.connector_uid, owner.generation)
            or newest.epochs.get(owner.task) != owner.epoch
        ):
            self._refuse(newest)
        return newest

    def is_newest(self, manifest: Manifest) -> bool:
        """Whether nobody has written another one since. Raises OSError."""
        return self._numbers()[:1] == [manifest.number]

    def _refuse(self, newest: Manifest | None) -> NoReturn:
        if newest is None:
            msg = f"{self._directory}: the manifests are gone; they belong to the data beside them. Restart the connector"
            raise PermanentError(msg)
        if newest.connector_uid != self._owner.connector_uid:
            name = f"{newest.connector!r} " if newest.connector else ""
            msg = (
                f"{self._directory}: the connector {name}(uid {newest.connector_uid}) writes there now, so this one stops. "
                "Two connectors need two targets: give one of them another, then restart this one"
            )
            raise PermanentError(msg)
        who = f"plan generation {newest.generation}, epochs {dict(newest.epochs)}"
        msg = f"{self._directory}: a newer run of this connector writes there now ({who}), so this one stops"
        raise PermanentError(msg)

    def written(self, newest: Manifest, commit: SinkCommit) -> bool:
        """Whether this very batch is there already. Compares and sets: see Raises. Within `locked`.

        Raises:
            PermanentError: the batch begins before what is there, so that records would be there twice.
        """
        if newest.tokens.get(self._owner.task) == commit.token:
            return True
        for queue, before in commit.before.items():
            stored = newest.queues.get(queue)
            if stored is not None and before.place < stored.place:
                msg = (
                    f"{self._directory}: the batch begins at offset {before.until} of {queue}, and everything up to {stored.until} "
                    "is there already. Restart the connector"
                )
                raise PermanentError(msg)
        return False

    def commit(self, newest: Manifest, commit: SinkCommit, state: Mapping[str, Any]) -> Manifest:
        """Makes a batch durable with its positions (invariant 2). Within `locked`."""
        made = replace(
            newest,
            number=newest.number + 1,
            tokens={**newest.tokens, self._owner.task: commit.token},
            queues={**newest.queues, **commit.after},
            state=state,
        )
        self._write(made)
        return made

    def _write(self, manifest: Manifest) -> None:
        path = self._path(manifest.number)
        data = json.dumps(manifest.to_json(), separators=(",", ":")).encode() + b"\n"
        try:
            file = self._roots.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            msg = f"{path}: another owner was quicker, so this one stops"
            raise PermanentError(msg) from None
        try:
            try:
                write_all(file, data, 0)
                os.fsync(file)
            finally:
                os.close(file)
            sync(self._directory)
        except BaseException:
            self._roots.remove(path)
            raise
        self._remove_old(manifest.number - _KEPT)

    def _remove_old(self, newest: int) -> None:
        # The new one is durable, and the batch with it: an error here must not look as if it were not. The next one tries again.
        with suppress(OSError):
            for number in self._numbers():
                if number <= newest:
                    self._roots.remove(self._path(number))

    def _numbers(self) -> list[int]:
        return _numbers(self._roots, self._directory)

    def _path(self, number: int) -> Path:
        return _path(self._directory, number)

    def _newest(self) -> Manifest | None:
        return _newest(self._roots, self._directory)


def seen_manifest(directory: Path) -> Manifest | None:
    """The newest manifest for somebody who only looks, while others may write; None: there is none, or nobody may look."""
    try:
        return _newest(writing(), directory)
    except (OSError, OutsideRoots):
        return None


def _numbers(roots: Roots, directory: Path) -> list[int]:
    names = roots.names(directory)
    return sorted((int(name[:-5]) for name in names if name.endswith(".json")), reverse=True)


def _path(directory: Path, number: int) -> Path:
    return directory / f"{number:020d}.json"


def _newest(roots: Roots, directory: Path) -> Manifest | None:
    numbers = _numbers(roots, directory)
    for number in numbers:
        with os.fdopen(roots.open(_path(directory, number), os.O_RDONLY), "rb") as file:
            text = file.read()
        if text.endswith(b"}\n"):
            with suppress(KeyError, TypeError, ValueError, AttributeError):  # cut off by a crash: it never happened
                found = manifest_from_json(json.loads(text))
                # A number that was never whole is used up, too.
                return replace(found, number=numbers[0])
    return None


def write_all(file: int, data: bytes | memoryview, at: int) -> int:
    """Writes everything at an offset; returns the offset behind it. Raises OSError."""
    view = memoryview(data)
    while view:
        done = os.pwrite(file, view, at)
        view = view[done:]
        at += done
    return at


def sync(path: Path) -> None:
    """Makes what a file holds durable, or the names in a directory. Raises OSError."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
