"""A sink of keys and values that writes when it stages: the newest value of each key, in a file of its own."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import Guarantee, QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter


class Shelf(RecordSink):
    """A value "a text" becomes the file FOLDER/a. While the file HOLD exists, a first batch waits before it is staged: HOLD.on.

    The text "late" is refused at the commit.
    """

    name = "shelf"
    options = (Option("folder", "The path.", required=True), Option("hold", "See above; none by default.", default="/none"))
    guarantee = Guarantee.IDEMPOTENT

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ShelfTask":
        return ShelfTask(Path(config["folder"]), Path(config["hold"]))


class ShelfTask(RecordSinkTask):
    def __init__(self, folder: Path, hold: Path) -> None:
        self._folder = folder
        self._hold = hold

    def start(self) -> Mapping[str, QueuePosition]:
        self._folder.mkdir(exist_ok=True)
        return {}

    def writer(self) -> SinkWriter:
        while self._hold.exists():
            self._hold.with_suffix(".on").touch()
            time.sleep(0.05)
        return ShelfWriter(str(self._folder))

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        late = [text == "late" for texts in receipts for text in texts]
        if any(late):
            raise RecordRefused({number: "it is late" for number, is_late in enumerate(late) if is_late}, ())

    def close(self) -> None:
        pass


class ShelfWriter(SinkWriter):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        pairs = [str(value).split(" ", 1) for value in batch.values]
        for key, text in pairs:
            if text != "late":
                (Path(self._folder) / key).write_text(text)
        return [text for _, text in pairs]
