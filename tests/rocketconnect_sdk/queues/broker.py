"""A broker that is a folder: sessions are folders in it, messages are files, and who is given one leaves a mark beside it."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from pathlib import Path

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.queues import QueueSource, Received, Share, Subscription


class FolderBroker:
    """What publishes, and looks at what is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count()
        self._turns: Iterator[int] = count()

    def publish(self, texts: Sequence[str]) -> None:
        """Sessions get messages in turns."""
        sessions = cycle(sorted(path for path in self.folder.iterdir() if path.is_dir()))
        for text in texts:
            (next(sessions) / f"{next(self._numbers):06d}").write_text(text)

    def left(self) -> int:
        """How many sessions there are."""
        return sum(path.is_dir() for path in self.folder.iterdir())

    def cut(self) -> None:
        """Ends all connections."""
        (self.folder / "cut").write_text(str(next(self._numbers)))


class FolderSource(QueueSource):
    """Reads what a folder has."""

    name = "folder_source"
    options = (Option("folder", "The path of the folder.", required=True), *QueueSource.options)
    leaves = True
    drained_seconds = 0.1

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        del context
        return Session(Path(config["folder"]), share)

    def retire(self, config: Config, share: Share) -> None:
        """See QueueSource."""
        shutil.rmtree(Path(config["folder"]) / share.identity, ignore_errors=True)


class Session(Subscription):
    def __init__(self, folder: Path, share: Share) -> None:
        self._broker = FolderBroker(folder)
        self._folder = folder / share.identity
        self._folder.mkdir(exist_ok=True)
        self._connection = self._seen()
        self._given: list[Path] = []

    @property
    def state(self) -> Mapping[str, str]:
        return {"session": self._folder.name}

    def receive(self, limit: int, size: int, seconds: float) -> list[Received]:
        del seconds
        self.ping([])
        found: list[Received] = []
        for path in sorted(self._folder.iterdir()):
            if path.suffix or path in self._given or len(found) >= limit or size <= 0:
                continue
            mark = path.with_suffix(".given")
            text = path.read_text()
            found.append(Received((self._connection, path), text, redelivered=mark.exists(), size=len(text)))
            size -= len(text)
            mark.touch()
            self._given.append(path)
        return found

    def ack(self, tags: Sequence[tuple[str, Path]]) -> None:
        self.ping([])
        for connection, path in tags:
            if connection != self._connection:
                msg = "a tag of another connection"
                raise PermanentError(msg)
            path.unlink()
            path.with_suffix(".given").unlink()

    def ping(self, tags: Sequence[object]) -> None:
        del tags
        if self._seen() != self._connection:
            msg = "the connection was cut"
            raise SystemAway(msg)

    def close(self) -> None:
        pass

    def _seen(self) -> str:
        cut = self._folder.parent / "cut"
        return cut.read_text() if cut.exists() else ""
