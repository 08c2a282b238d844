"""Topics into indexes of Elasticsearch and OpenSearch."""

import json
from collections.abc import Iterable

from connectors.elasticsearch.bulk import METHODS, index_problem, settings_problem
from connectors.elasticsearch.client import SERVERS, client_of, server_problems
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

_OF_SCHEMA = "schema"


class ElasticsearchSink(WriteSink):
    """Writes documents of Elasticsearch and OpenSearch, each once by its id."""

    name = "elasticsearch_sink"
    guarantee = Guarantee.IDEMPOTENT
    request_rows = 10_000
    options = (
        *SERVERS,
        template_option(
            "index",
            f"The index, an alias or a data stream. {FORM} stand for what a record has; upper-case letters become lower case.",
            "${topic}",
        ),
        template_option(
            "id",
            f"The id of the document, of {FORM}. Empty: the server makes one, and a document may be there twice after a failure.",
            "${key}",
        ),
        Option(
            "method",
            "index: the document is as the record. create: it is written where its id is not there yet, as data streams want it. "
            "upsert: its fields are written, and others that are there stay.",
            default="index",
            choices=METHODS,
        ),
        DELETE_ENABLED,
        Option(
            "index.create",
            "Who makes an index that is not there. server: the server, by its templates and from the first document. schema: this "
            "sink, with a mapping that is made of the schema of the records.",
            default="server",
            choices=("server", _OF_SCHEMA),
        ),
        Option(
            "index.settings",
            'Of an index that this sink makes: a JSON object, such as {"number_of_replicas": 0}.',
            default="",
            check=settings_problem,
            fix='Write a JSON object, such as {"number_of_replicas": 0}.',
        ),
        Option("pipeline", "An ingest pipeline that documents go through. Empty: that of the index.", default=""),
        Option(
            "request.bytes",
            "The size of a request at most. Requests become smaller where the server is busy, or takes none so large.",
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
            target=Template.of(config["index"]),
            key=Template.of(config["id"]) if config["id"] else None,
            form=Form.OBJECT,
            deletes=config["delete.enabled"],
            partial=config["method"] == "upsert",
            schemas=config["index.create"] == _OF_SCHEMA,
        )

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.elasticsearch.connection import SearchConnection, SinkSettings

        writing = SinkSettings(
            config["method"],
            config["request.bytes"],
            config["pipeline"],
            config["index"].startswith("."),
            json.loads(config["index.settings"] or "{}"),
        )
        return SearchConnection(client_of(config), writing, context.stopping)


def _problems(config: Config) -> Iterable[Problem]:
    index = config["index"]
    if "${" not in index and (problem := index_problem(index.lower())) is not None:
        yield Problem("index", index, problem, "Give another name.")
    if not config["id"]:
        for key in [
            *(["delete.enabled"] if config["delete.enabled"] else []),
            *(["method"] if config["method"] == "upsert" else []),
        ]:
            fix = "Set id, such as to ${key}, or remove this."
            yield Problem(key, str(config.raw[key]), "needs an id, and id is empty", fix)
    if config["index.settings"] and config["index.create"] != _OF_SCHEMA:
        fix = "Set index.create=schema, or remove it: the server has its templates."
        yield Problem("index.settings", config["index.settings"], "means nothing with index.create=server", fix)
