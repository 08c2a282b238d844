"""Topics into collections of Solr."""

from collections.abc import Iterable, Sequence

from connectors.solr.client import SERVERS, client_of, server_problems
from connectors.solr.updates import CREATE, METHODS, MODIFIERS, UPDATE, SinkSettings, collection_problem, modifiers_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http import login_problems
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

_HARD, _SOFT, _NONE = "hard", "soft", "none"
_COMMITS = {_HARD: {"commit": "true", "openSearcher": "false"}, _SOFT: {"softCommit": "true"}, _NONE: {}}


def _modifiers_problem(pairs: Sequence[str]) -> str | None:
    try:
        modifiers_of(pairs)
    except ValueError as error:
        return str(error)
    return None


class SolrSink(WriteSink):
    """Writes documents of Apache Solr: each record is one, by its id, with the last value that it had."""

    name = "solr_sink"
    guarantee = Guarantee.IDEMPOTENT
    request_rows = 1_000
    options = (
        *SERVERS,
        template_option(
            "collection",
            f"The collection, an alias or a core. {FORM} stand for what a record has.",
            "${topic}",
        ),
        template_option(
            "id",
            "The id of the document, made as `collection` is. ${queue}@${offset} gives each record a document.",
            "${key}",
        ),
        Option("id.field", "The unique key of the collection.", default="id"),
        Option(
            "write.method",
            "replace: a document has the fields of its newest record alone. update: its fields are changed (atomic updates), and "
            "others that are there stay; null takes a field away. create: it is written where its id is not there yet.",
            default="replace",
            choices=METHODS,
        ),
        Option(
            "update.fields",
            "What write.method=update does with the values of some fields, each FIELD=MODIFIER, separated by commas: "
            f"{', '.join(MODIFIERS)}. Others are set. Of inc and add a change may be made twice after a failure, and each document "
            "has a request of its own.",
            Kind.LIST,
            default="",
            check=_modifiers_problem,
            fix="Write FIELD=MODIFIER, such as tags=add-distinct.",
        ),
        Option(
            "objects",
            'What becomes of an object within a document. text: its JSON. flat: fields with points: {"a": {"b": 1}} is a.b.',
            default="text",
            choices=("text", "flat"),
        ),
        DELETE_ENABLED,
        Option(
            "commit",
            "What follows each request. hard: its documents are on the server's disk, and are found when commit.within or the "
            "server says so. soft: they are found at once. none: the server's update log and its autoCommit are relied upon.",
            default=_HARD,
            choices=tuple(_COMMITS),
        ),
        Option(
            "commit.within",
            "Documents are found after so long (commitWithin). 0s: as the server's autoSoftCommit says.",
            Kind.DURATION,
            "1s",
        ),
        Option(
            "update.chain",
            "A chain of update processors of the collection. One with TolerantUpdateProcessor says which documents are refused, so "
            "that nothing is sent again to find them. Empty: the default one.",
            default="",
        ),
        Option(
            "request.bytes",
            "The size of a request at most.",
            Kind.SIZE,
            "5MiB",
            minimum=64 << 10,
            maximum=1 << 30,
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, login_problems, _problems, server_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        return Addressing(
            target=Template.of(config["collection"]),
            key=Template.of(config["id"]),
            form=Form.OBJECT,
            deletes=config["delete.enabled"],
            partial=config["write.method"] == UPDATE,
        )

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.solr.connection import SolrConnection

        del context
        writing = SinkSettings(
            config["write.method"], config["id.field"], modifiers_of(config["update.fields"]), flat=config["objects"] == "flat"
        )
        parameters = dict(_COMMITS[config["commit"]])
        if config["commit.within"] and config["commit"] != _SOFT:
            parameters["commitWithin"] = str(max(1, int(config["commit.within"] * 1000)))
        if config["update.chain"]:
            parameters["update.chain"] = config["update.chain"]
        if config["write.method"] in (CREATE, UPDATE):
            # What must not be there and is was written before.
            parameters["failOnVersionConflicts"] = "false"
        return SolrConnection(client_of(config), writing, parameters, config["request.bytes"])


def _problems(config: Config) -> Iterable[Problem]:
    collection = config["collection"]
    if "${" not in collection and (problem := collection_problem(collection)) is not None:
        yield Problem("collection", collection, problem, "Give another name.")
    if config["update.fields"] and config["write.method"] != UPDATE:
        fix = "Set write.method=update, or remove it."
        yield Problem(
            "update.fields", config.raw["update.fields"], f"means nothing with write.method={config['write.method']}", fix
        )
