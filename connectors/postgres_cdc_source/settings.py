"""What is configured, as the task needs it."""

from dataclasses import dataclass

from connectors.postgres_cdc_source.logical.connection import Address
from connectors.postgres_cdc_source.making import Making
from connectors.postgres_cdc_source.tables import Filter
from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured.

    Attributes:
        address: The database.
        chosen: What is captured.
        slot: The replication slot.
        publication: The publication.
        snapshot: The rows that are there are read.
        log: The changes are, too.
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

    address: Address
    chosen: Filter
    slot: str
    publication: str
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
    def of(cls, config: Config) -> "Settings":
        """As configured."""
        mode = config["snapshot.mode"]
        return cls(
            address_of(config),
            Filter.of(config),
            config["slot.name"],
            config["publication.name"],
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

    def making(self, context: TaskContext, positions: dict[str, Offset]) -> Making:
        """What is the same for all tables."""
        return Making(
            self.form,
            self.name or context.connector,
            self.address.database,
            self.topic,
            self.template,
            columnar=context.columns,
            positions=positions,
            keys=self.keys,
            masks=self.masks,
        )


def address_of(config: Config) -> Address:
    """The database."""
    options = {"sslmode": config["sslmode"]}
    if config["sslrootcert"] is not None:
        options["sslrootcert"] = config["sslrootcert"]
    return Address(config["hostname"], config["port"], config["username"], config["database"], config["password"] or "", options)
