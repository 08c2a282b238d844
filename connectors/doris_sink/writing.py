"""What a sink writes, and where: the settings of a connector. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.doris.place import Login, Place
from connectors.doris.tables import UNIQUE, Table
from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.evolution import POLICY, Policy
from rocketconnect_sdk.http.options import tls_of
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

RECORD_KEY = "record_key"
UPSERT = "upsert"


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written, and where. Picklable.

    Attributes:
        place: The database.
        login: Who we are there.
        table: The table; ${topic} stands for the topic.
        upsert: A row replaces the one of its key; else each record is a new row.
        key: The columns of the key; empty: those of the table.
        by_key: They are in the key of the record; else in its value.
        delete: Deletions are made.
        create: A table that is not there is made.
        properties: Of tables that are made, as statements have them; empty: none.
        policy: When records have other columns than the table.
        columns: What JSON objects are made rows of; None: the columns of the table.
    """

    place: Place
    login: Login
    table: str
    upsert: bool
    key: Sequence[str]
    by_key: bool
    delete: bool
    create: bool
    properties: str
    policy: Policy
    columns: Schema | None

    def name(self, topic: str) -> str:
        """The table of a topic."""
        return self.table.replace("${topic}", topic)


def table_problem(writing: Writing, table: Table) -> tuple[str, str] | None:
    """Why a table does not do, and what to do about it."""
    if writing.upsert and table.model != UNIQUE:
        reason = f"has the model {table.model} KEY, and insert.mode=upsert needs UNIQUE KEY"
        return reason, "Set insert.mode=insert, or make the table with a UNIQUE KEY"
    if not writing.upsert and table.model == UNIQUE:
        reason = "has the model UNIQUE KEY, in which a row replaces another one of its key, whichever of a batch comes last"
        return reason, "Set insert.mode=upsert, or make the table with a DUPLICATE KEY"
    if writing.upsert and writing.key and set(writing.key) != set(table.key):
        reason = f"has the key {','.join(table.key)}, and pk.fields is {','.join(writing.key)}"
        return reason, f"Set pk.fields={','.join(table.key)}, or leave it out"
    return None


def place_of(config: Config) -> Place:
    """The cluster and the database."""
    backends = tuple(each.rstrip("/") for each in config["backends"])
    return Place(config["url"].rstrip("/"), config["query.port"], config["database"], backends)


def login_of(config: Config, *, seconds: float = 0.0) -> Login:
    """Who we are there."""
    return Login(config["user"], config["password"] or "", tls_of(config), seconds or config["request.timeout"])


def writing_of(config: Config) -> Writing:
    """What a configuration says of what is written."""
    return Writing(
        place_of(config),
        login_of(config),
        config["table"],
        config["insert.mode"] == UPSERT,
        tuple(config["pk.fields"]),
        config["pk.mode"] == RECORD_KEY,
        config["delete.enabled"],
        config["table.create"],
        config["table.properties"],
        Policy(config[POLICY.key]),
        given_columns(config["columns"]),
    )
