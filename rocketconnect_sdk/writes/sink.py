"""The sink: its options, and how it opens tasks."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.sink import FlushPolicy, RecordSink
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes.connection import Connection
from rocketconnect_sdk.writes.operations import Addressing
from rocketconnect_sdk.writes.task import WriteTask

DELETE_ENABLED = Option(
    "delete.enabled",
    "A record without a value deletes what its key names. Otherwise it is a bad record. The deletions of change envelopes are made "
    "by the same option.",
    Kind.BOOL,
    "false",
)
FLUSHES = (FLUSH_ROWS, FLUSH_BYTES, flush_interval("0s", "Without it what there is is written at once."))
"""When batches are closed."""


class WriteSink(NeedsPackages, RecordSink):
    """A sink that writes keys, documents or messages over a connection.

    Its guarantee is EXACTLY_ONCE where `connect` gives a TransactionalConnection, IDEMPOTENT where all records have keys, and
    AT_LEAST_ONCE where some are appended. `check` asks for the packages that it needs before it calls `look`.

    Class attributes:
        request_rows: So many operations go into one write at most, fewer where Connection.fits says so. A transaction has all of
            a batch.
    """

    options: ClassVar[Sequence[Option]] = FLUSHES
    defaults: ClassVar[Mapping[str, str]] = MappingProxyType({"engine": "native"})
    request_rows: ClassVar[int] = 1_000
    wants_headers = True

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from self.look(config)

    def look(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options, where its packages are there. See Sink.check."""
        del config
        return ()

    @abstractmethod
    def addressing(self, config: Config) -> Addressing:
        """How records become operations."""

    @abstractmethod
    def connect(self, config: Config, context: TaskContext) -> Connection:
        """Makes a connection, which may connect when it is first used. Always of the same kind for one configuration."""

    def connecting(self, config: Config, context: TaskContext) -> Callable[[], Connection]:
        """Makes the connections of one task, one after the other: for those that have something to tell the next one."""
        return lambda: self.connect(config, context)

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> WriteTask:
        """See RecordSink."""
        del task
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        return WriteTask(
            self.connecting(config, context),
            self.addressing(config),
            Owner(context.generation, context.task, context.epoch),
            self.flush_policy(config),
            self.request_rows,
        )
