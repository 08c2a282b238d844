"""What a sink writes, and where: the settings of a connector. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.clickhouse.options import place_of
from connectors.clickhouse.place import Place
from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.evolution import POLICY, Policy
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import QueuePosition

EXACT = "exactly_once"
QUEUE, OFFSET, ROW = PLACE = ("_rc_queue", "_rc_offset", "_rc_row")
"""The columns that say which record a row is: the queue, as `queue_text` writes it, the offset, and the row of a packed message."""
DEFINITIONS = ("`_rc_queue` String", "`_rc_offset` UInt64", "`_rc_row` UInt32")
INDEX = "INDEX `_rc_offset` `_rc_offset` TYPE minmax GRANULARITY 1"
"""With it a start reads no part of a large table but the newest."""
EXACT_ENGINES = ("MergeTree", "ReplicatedMergeTree", "SharedMergeTree")
"""Those that keep each row as it is: what replaces or adds up rows forgets which records are there."""


def engine_problem(engine: str) -> str:
    """Why an engine does not do for delivery=exactly_once; empty: it does."""
    if engine in EXACT_ENGINES:
        return ""
    return f"has the engine {engine}, and delivery=exactly_once needs one of {', '.join(EXACT_ENGINES)}"


ENGINE_FIX = "Set delivery=at_least_once; a ReplacingMergeTree keeps the newest record of each key then, as records come in order"


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written, and where. Picklable.

    Attributes:
        place: The database.
        table: The table; ${topic} stands for the topic.
        exact: Rows carry their places, see PLACE.
        create: A table that is not there is made.
        engine: Of tables that are made: the engine, what they are partitioned by, what they are sorted by, settings.
        policy: When records have other columns than the table.
        columns: What JSON objects are made rows of; None: the columns of the table.
    """

    place: Place
    table: str
    exact: bool
    create: bool
    engine: Sequence[str]
    policy: Policy
    columns: Schema | None

    def name(self, topic: str) -> str:
        """The table of a topic."""
        return self.table.replace("${topic}", topic)


def queue_number(queue: str) -> int:
    """Stands for a queue while rows are on their way: names are long."""
    return int.from_bytes(hashlib.sha256(queue.encode()).digest()[:8], "little")


def queue_text(queue: str, position: QueuePosition, connector_uid: str) -> str:
    """A queue as rows have it. After a reset, in a queue that was made anew and of another connector records are others."""
    return f"{queue} {connector_uid} {position.incarnation}.{position.era}"


def writing_of(config: Config) -> Writing:
    """What a configuration says of what is written."""
    return Writing(
        place_of(config),
        config["table"],
        config["delivery"] == EXACT,
        config["table.create"],
        tuple(config[key] for key in ("table.engine", "table.partition.by", "table.order.by", "table.settings")),
        Policy(config[POLICY.key]),
        given_columns(config["columns"]),
    )
