"""The sink: its checks, and how it opens tasks."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from logging import Logger, getLogger
from typing import TYPE_CHECKING, Any, ClassVar

from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.evolution import Policy, policy_problems
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee, RecordSink
from rocketconnect_sdk.tables.settings import settings_of
from rocketconnect_sdk.targets.owners import Owner

if TYPE_CHECKING:
    from rocketconnect_sdk.tables.dialect import Dialect
    from rocketconnect_sdk.tables.task import Loader, TableTask
    from rocketconnect_sdk.verification import SinkTables

CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""


class TableSink(RecordSink):
    """A sink that writes rows to tables, exactly once: the author writes a Dialect and a Loader.

    Its options have those of rocketconnect_sdk.tables.options and FLUSH_ROWS, FLUSH_BYTES and flush.interval; with `insert.mode`
    also `pk.mode`, `pk.fields` and `delete.enabled`.

    Class attributes:
        checks: Say what is wrong with a configuration beyond single options, before a server is asked.
        away: The option to which it belongs that nobody answers, and what to do.
        refused: The same where we are refused.
    """

    guarantee: ClassVar[Guarantee] = Guarantee.EXACTLY_ONCE
    checks: ClassVar[Sequence[Callable[[Config], Iterable[Problem]]]] = ()
    away: ClassVar[tuple[str, str]] = ("url", "Start the server, or correct the URL.")
    refused: ClassVar[tuple[str, str]] = ("url", "Correct what it says.")

    @abstractmethod
    def dialect(self, config: Config, *, seconds: float = 0.0) -> "Dialect[Any, Any]":
        """The tables of the server. `seconds`: so long an answer may take; 0: as the configuration says."""

    @abstractmethod
    def loader(self, config: Config, connector_uid: str, owner: Owner, log: Logger) -> "Loader":
        """What brings batches there for an owner."""

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, *self.checks, _evolution_problems, preflight(away=self.away, refused=self.refused)(self._look))

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """Against the tables that are there. See Sink."""
        from rocketconnect_sdk.tables.preflight import rows_problems

        if config["columns"] or not login_is_known(config):
            return
        try:
            with closing(self.dialect(config, seconds=CHECK_SECONDS)) as dialect:
                yield from rows_problems(config, dialect, rows)
        except (SystemAway, PermanentError):
            return  # told where the server is looked at otherwise

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "TableTask":
        """See RecordSink."""
        from rocketconnect_sdk.tables.task import TableTask

        del task
        owner = Owner(context.generation, context.task, context.epoch)
        loader = self.loader(config, context.connector_uid, owner, context.log)
        return TableTask(settings_of(config), self.dialect(config), loader, self.flush_policy(config))

    def tables(self, config: Config) -> "SinkTables | None":
        """Those that its dialect has a reader of. See Sink."""
        from rocketconnect_sdk.tables.verification import KeptTables

        dialect = self.dialect(config)
        reader = dialect.reader()
        return None if reader is None else KeptTables(settings_of(config), dialect, reader)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes its positions. See Sink."""
        with closing(self.loader(config, connector_uid, Owner(0, 0, 0), getLogger(__name__))) as loader:
            loader.forget()

    def _look(self, config: Config) -> Iterable[Problem]:
        from rocketconnect_sdk.tables.preflight import server_problems

        with closing(self.dialect(config, seconds=CHECK_SECONDS)) as dialect:
            yield from server_problems(config, dialect)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    return policy_problems(config, tuple(Policy), "")
