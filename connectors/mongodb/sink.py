"""Topics into collections of MongoDB. It was run against FerretDB, and against no MongoDB."""

from collections.abc import Iterable

from connectors.mongodb.options import CHECK_SECONDS, SERVER
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import (
    DELETE_ENABLED,
    FORM,
    Addressing,
    Connection,
    Form,
    Template,
    WriteSink,
    template_option,
)

_DATABASE = 'may have none of / \\ . " $ and spaces, and 63 characters at most'
_LONGEST = 63


def _database_problem(name: str) -> str | None:
    return _DATABASE if len(name.encode()) > _LONGEST or not name or set(name) & set('/\\. "$\0') else None


class MongodbSink(WriteSink):
    """Writes documents of MongoDB: each record is one, by its `_id`, with the last value that it had."""

    name = "mongodb_sink"
    guarantee = Guarantee.IDEMPOTENT
    extra = "mongodb"
    packages = ("pymongo",)
    options = (
        *SERVER,
        Option(
            "database", "The database.", required=True, check=_database_problem, fix="Write a name such as shop.", example="shop"
        ),
        template_option(
            "collection",
            f"The collection. {FORM} stand for what a record has.",
            "${topic}",
        ),
        template_option(
            "id",
            "The _id of a document, made as `collection` is; what stands alone, such as ${value.id}, keeps its type. "
            "${queue}@${offset} gives each record a document.",
            "${key}",
        ),
        Option(
            "write.method",
            "replace: a document has the fields of its newest record alone. update: fields that the record does not have stay.",
            default="replace",
            choices=("replace", "update"),
        ),
        Option(
            "timestamps",
            "exact: timestamps of milliseconds with a zone are dates of BSON, and all others text with all their digits. date: all "
            "are dates, and what is below a millisecond is cut off.",
            default="exact",
            choices=("exact", "date"),
        ),
        Option(
            "extended.json",
            'Objects such as {"$oid": ...} in values and keys are MongoDB\'s extended JSON, and become what they stand for; '
            "documents of changes may be texts of it. So mongodb_source and Debezium send them.",
            Kind.BOOL,
            "false",
        ),
        DELETE_ENABLED,
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, _server_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        from connectors.mongodb.documents import Typed
        from connectors.mongodb.extended import Extended

        typed = Typed(config["timestamps"] == "date")
        return Addressing(
            target=Template.of(config["collection"]),
            key=Template.of(config["id"]),
            form=Form.OBJECT,
            deletes=config["delete.enabled"],
            partial=True,
            values=Extended(typed) if config["extended.json"] else typed,
        )

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.mongodb.client import client_of
        from connectors.mongodb.connection import MongoConnection
        from connectors.mongodb.requests import SinkSettings

        del context
        writing = SinkSettings(updates=config["write.method"] == "update", extended=config["extended.json"])
        return MongoConnection(client_of(config), config["url"], config["database"], writing)


@preflight(refused=("user", "Correct user and password."))
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.mongodb.client import client_of, own_errors

    with own_errors(config["url"]), client_of(config, seconds=min(CHECK_SECONDS, config["request.timeout"])) as client:
        client.get_database(config["database"]).command("ping")
    return ()
