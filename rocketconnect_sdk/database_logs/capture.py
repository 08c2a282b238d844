"""What is configured alike for the logs of all databases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, N, Path
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import Schema


@dataclass(frozen=True, slots=True)
class Capture:
    """What is captured, how, and what becomes of it.

    Attributes:
        snapshot: The rows that are there are read, in one transaction.
        log: The changes are read.
        incremental: The rows that are there are read in chunks, while the changes are.
        chunk_rows: How many rows a chunk has.
        chunk_rate: How many rows chunks have in a second; 0: no limit.
        heartbeat: How often the position in the log is stored, in seconds.
        form: Of the records.
        name: What the server is called in records; empty: as the connector.
        keys: Of the records.
        masks: Of columns.
        topic: The topic of the configuration.
        template: Of the topics of tables.
    """

    snapshot: bool
    log: bool
    incremental: bool
    chunk_rows: int
    chunk_rate: int
    heartbeat: float
    form: ChangeForm
    name: str
    keys: MessageKeys
    masks: ColumnMasks
    topic: str
    template: str

    @classmethod
    def of(cls, config: Config) -> "Capture":
        """As configured."""
        mode = config["snapshot.mode"]
        return cls(
            snapshot=mode in {"initial", "only"},
            log=mode != "only",
            incremental=mode == "incremental",
            chunk_rows=config["incremental.snapshot.chunk.size"],
            chunk_rate=config["incremental.snapshot.max.rate.rows"],
            heartbeat=config["heartbeat.interval"],
            form=ChangeForm.of(config),
            name=config["server.name"],
            keys=MessageKeys.of(config),
            masks=ColumnMasks.of(config),
            # An option of the runtime, which a test of the connector alone does not have.
            topic=config["topic"] if "topic" in config else "",  # noqa: SIM401 - Config has no default of its own
            template=config["table.topic"],
        )

    def making(
        self, context: TaskContext, positions: Mapping[str, Offset], connector: str, path: Callable[[N], Path], source: Schema
    ) -> Making[N]:
        """What becomes of the rows of all tables.

        Args:
            context: Of the task.
            positions: Where each partition begins.
            connector: What the kind of database is called in records.
            path: Where a table stands.
            source: What their field source has besides what all databases have.
        """
        return Making(
            self.form,
            connector,
            self.name or context.connector,
            path,
            source,
            self.topic,
            self.template,
            columnar=context.columns,
            positions=dict(positions),
            keys=self.keys,
            masks=self.masks,
        )
