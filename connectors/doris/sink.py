"""Topics into the tables of Apache Doris."""

from collections.abc import Iterable
from dataclasses import replace
from logging import Logger
from typing import TYPE_CHECKING

from connectors.doris.endpoint import Endpoint, Login
from rocketconnect_sdk.configuration.change_options import DELETE_ENABLED, PK_MODE
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS, tls_of, tls_problems
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.tables import COLUMNS, EVOLUTION, POSITIONS_TABLE, TABLE, TABLE_CREATE, Owner, TableSink, settings_of
from rocketconnect_sdk.tables.settings import UPSERT
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.doris.dialect import Doris
    from connectors.doris.loads import Loads

_INSERT = "insert"


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


class DorisSink(TableSink):
    """Writes rows and changes of rows to tables of Apache Doris, exactly once."""

    name = "doris_sink"
    wants_headers = True
    checks = (tls_problems, _backends_problems, _mode_problems)
    away = ("url", "Start the server, or correct url and query.port.")
    refused = ("url", "Name a frontend of Doris, and its query_port in query.port.")
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
        TABLE,
        Option(
            "insert.mode",
            "insert: each record is a new row, in a table with a DUPLICATE KEY, or one with an AGGREGATE KEY. upsert: it replaces "
            "the row of its key in a table with a UNIQUE KEY, or is a new one; change envelopes do what they say.",
            default=_INSERT,
            choices=(_INSERT, UPSERT),
        ),
        PK_MODE,
        Option(
            "pk.fields", "The columns of the key, with upsert, of tables that are made. Of others it is their own.", Kind.LIST, ""
        ),
        DELETE_ENABLED,
        TABLE_CREATE,
        Option(
            "table.properties",
            'Properties of tables that are made, that of the positions among them: "replication_num" = "1".',
            default="",
        ),
        EVOLUTION,
        COLUMNS,
        replace(POSITIONS_TABLE, doc="The table that keeps the positions of the queues and the loads that wait for their commit."),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("10s", "Each batch is a load and two INSERTs, and Doris wants few large ones."),
    )

    def targets(self, config: Config) -> Iterable[Target]:
        """The table. See Sink."""
        place = _place_of(config)
        yield Target("table", f"{place.url} {'.'.join(place.parts(config['table']))}")

    def dialect(self, config: Config, *, seconds: float = 0.0) -> "Doris":
        """See TableSink."""
        from connectors.doris.dialect import Doris
        from connectors.doris.session import Session

        session = Session(_place_of(config), _login_of(config, seconds))
        return Doris(session, settings_of(config), config["table.properties"])

    def loader(self, config: Config, connector_uid: str, owner: Owner, log: Logger) -> "Loads":
        """See TableSink."""
        from connectors.doris.client import Client
        from connectors.doris.loads import Loads
        from connectors.doris.positions import Store
        from connectors.doris.session import Session

        del log
        place, login = _place_of(config), _login_of(config)
        client, session = Client(place, login), Session(place, login)
        return Loads(client, Store(client, session, config["positions.table"], config["table.properties"], connector_uid, owner))


def _place_of(config: Config) -> Endpoint:
    backends = tuple(each.rstrip("/") for each in config["backends"])
    return Endpoint(config["url"].rstrip("/"), config["query.port"], config["database"], backends)


def _login_of(config: Config, seconds: float = 0.0) -> Login:
    return Login(config["user"], config["password"] or "", tls_of(config), seconds or config["request.timeout"])
