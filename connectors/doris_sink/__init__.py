"""Topics into the tables of Apache Doris."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.doris_sink.writing import RECORD_KEY, UPSERT, login_of, place_of, writing_of
from rocketconnect_sdk.columns.declared import DOC, columns_problem
from rocketconnect_sdk.configuration.change_options import DELETE_ENABLED
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS, tls_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee, RecordSink
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.doris_sink.owners import Owner
    from connectors.doris_sink.store import Store
    from connectors.doris_sink.task import DorisTask

_INSERT = "insert"


class DorisSink(RecordSink):
    """Writes rows and changes of rows to tables of Apache Doris, exactly once."""

    name = "doris_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    wants_headers = True
    options = (
        Option(
            "url",
            "A frontend of the cluster, as its http_port has it: http://host:8030, or https://host:8050.",
            required=True,
            check=server_problem,
            fix="Write http://HOST:8030, without a path; a user in `user`, a password in `password`.",
            reaches=of_urls,
            example="http://127.0.0.1:8030",
        ),
        Option("query.port", "The query_port of the same frontend, for statements.", Kind.INT, "9030", minimum=1, maximum=65_535),
        Option(
            "backends",
            "The addresses of backends that take the rows, as their webserver_port has it: http://host:8040. Empty: those that the "
            "frontend redirects to, which the executor has to reach.",
            Kind.LIST,
            "",
            reaches=of_urls,
        ),
        Option("database", "The database of tables that name none, and of the positions.", required=True, example="shop"),
        Option("user", "The user.", default="root", references=True, aliases=("username",)),
        Option("password", "The password of the user.", secret=True),
        *TLS,
        replace(
            REQUEST_TIMEOUT, doc="How long an answer of the cluster may take, and a load.", default="120s", minimum=1, maximum=3000
        ),
        Option(
            "table",
            "The table. ${topic} stands for the topic; before a point stands another database. One connector has it.",
            default="${topic}",
        ),
        Option(
            "insert.mode",
            "insert: each record is a new row, in a table with a DUPLICATE KEY, or one with an AGGREGATE KEY. upsert: it replaces "
            "the row of its key in a table with a UNIQUE KEY, or is a new one; change envelopes do what they say.",
            default=_INSERT,
            choices=(_INSERT, UPSERT),
        ),
        Option(
            "pk.mode",
            "Where the key of a row is, with upsert. record_value: in the value. record_key: in the key of the record, a JSON "
            "object or, where the key has one column, a plain value; a record without a value then deletes the row of its key.",
            default="record_value",
            choices=("record_value", RECORD_KEY),
        ),
        Option(
            "pk.fields", "The columns of the key, with upsert, of tables that are made. Of others it is their own.", Kind.LIST, ""
        ),
        DELETE_ENABLED,
        Option("table.create", "A table that is not there is made of the columns of the first record.", Kind.BOOL, "false"),
        Option(
            "table.properties",
            'Properties of tables that are made, that of the positions among them: "replication_num" = "1".',
            default="",
        ),
        replace(POLICY, default=Policy.FAIL.value),
        Option(
            "columns",
            "Makes rows of JSON objects that have no schema; fields that are no columns are left out. Without it they have the "
            f"columns of the table. Values with a schema need no columns. {DOC}",
            default="",
            check=columns_problem,
            fix=f"Write {DOC}",
        ),
        Option(
            "positions.table",
            "The table that keeps the positions of the queues and the loads that wait for their commit.",
            default="rocketconnect_positions",
        ),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("10s", "Each batch is a load and two INSERTs, and Doris wants few large ones."),
    )

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, tls_problems, _backends_problems, _mode_problems, _evolution_problems, _server_problems)

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """Against the tables that are there. See Sink."""
        from connectors.doris_sink.look import rows_problems

        return rows_problems(config, rows)

    def targets(self, config: Config) -> Iterable[Target]:
        """The table. See Sink."""
        place = place_of(config)
        yield Target("table", f"{place.url} {'.'.join(place.parts(config['table']))}")

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "DorisTask":
        """See RecordSink."""
        from connectors.doris.client import Client
        from connectors.doris_sink.owners import Owner
        from connectors.doris_sink.task import DorisTask

        del task
        client = Client(place_of(config), login_of(config))
        store = _store(config, context.connector_uid, Owner(context.generation, context.task, context.epoch))
        return DorisTask(writing_of(config), client, store, self.flush_policy(config))

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes its positions. See Sink."""
        from connectors.doris_sink.owners import Owner

        store = _store(config, connector_uid, Owner(0, 0, 0))
        try:
            store.forget()
        finally:
            store.close()


def _store(config: Config, connector_uid: str, owner: "Owner") -> "Store":
    from connectors.doris.client import Client
    from connectors.doris.session import Session
    from connectors.doris_sink.store import Store

    place, login = place_of(config), login_of(config)
    return Store(
        Client(place, login), Session(place, login), config["positions.table"], config["table.properties"], connector_uid, owner
    )


def _backends_problems(config: Config) -> Iterable[Problem]:
    for each in config["backends"]:
        if problem := server_problem(each):
            yield Problem("backends", each, problem, "Write http://HOST:8040, without a path.")


def _mode_problems(config: Config) -> Iterable[Problem]:
    if config["insert.mode"] == _INSERT:
        given = {"pk.fields": config["pk.fields"], "delete.enabled": config["delete.enabled"], "pk.mode": "pk.mode" in config.raw}
        for name in (name for name, value in given.items() if value):
            fix = "Set insert.mode=upsert, or remove it."
            yield Problem(name, config.raw[name], "means nothing where each record is a new row", fix)
    elif config["table.create"] and not config["pk.fields"]:
        fix = "Name the columns of the key."
        yield Problem("pk.fields", "", "is missing, and a table that is made for upsert needs a key", fix)
    if config["table.properties"] and "=" not in config["table.properties"]:
        fix = 'Write "replication_num" = "1", and a comma between several.'
        yield Problem("table.properties", config["table.properties"], "is no list of properties", fix)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    return policy_problems(config, tuple(Policy), "")


def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.doris_sink.look import server_problems

    return server_problems(config)
