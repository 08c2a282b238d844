"""Polls tasks of files until they have nothing more."""

from collections.abc import Iterator

from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.record import SourceBatch


def polled(task: FileSourceTask) -> Iterator[SourceBatch]:
    """The batches that a task gives now, one after the other."""
    while batches := task.poll():
        yield from batches
