"""Connections over TLS, of the connectors of databases, to real servers."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connectors.jdbc.options import database_of
from connectors.jdbc.session import Session
from connectors.jdbc_sink import JdbcSink
from connectors.jdbc_source import JdbcSource
from connectors.mysql_cdc_source import MysqlCdcSource
from connectors.mysql_cdc_source.binlog.server import connected, end_of_log
from connectors.mysql_cdc_source.binlog.stream import BinlogStream
from connectors.mysql_cdc_source.settings import login_of
from connectors.postgres_cdc_source import PostgresCdcSource
from connectors.postgres_cdc_source.logical.connection import ask, connect
from connectors.postgres_cdc_source.logical.slots import drop_slot, new_slot
from connectors.postgres_cdc_source.logical.stream import Stream
from connectors.postgres_cdc_source.settings import address_of
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, parse
from tests.connectors.databases.certificates import Authority
from tests.connectors.databases.conftest import PASSWORD, Secured

SHOWS_NONE = "certificate|Access denied"


class Reached:
    """A server as connectors of each kind reach it.

    Args:
        kind: postgres or mariadb.
        server: The server.
        user: Who they are.
        options: TLS.
    """

    def __init__(self, kind: str, server: Secured, user: str = "safe", **options: str | Path) -> None:
        self.kind = kind
        given = {name.replace("_", "."): str(text) for name, text in options.items()}
        secrets = {"${env:PASSWORD}": PASSWORD, "${env:KEY}": given.get("ssl.key.password", "")}
        if "ssl.key.password" in given:
            given["ssl.key.password"] = "${env:KEY}"

        def read(plugin: Any, raw: Mapping[str, str]) -> Config:
            return parse(plugin.options, raw).replaced(lambda text: secrets.get(text, text))

        scheme = "postgresql" if kind == "postgres" else "mysql"
        given["password"] = "${env:PASSWORD}"
        url = f"{scheme}://127.0.0.1:{server.port}/test"
        jdbc = {**given, "user": user, "connection.url": url}
        self.jdbc = read(JdbcSource(), {**jdbc, "topic.prefix": "t_"})
        self.sink = read(JdbcSink(), jdbc)
        cdc = {**given, "username": user, "hostname": "127.0.0.1", "port": str(server.port)}
        self.source: Any = PostgresCdcSource() if kind == "postgres" else MysqlCdcSource()
        self.cdc = read(self.source, {**cdc, **({"database": "test"} if kind == "postgres" else {})})

    def encrypted(self) -> list[bool]:
        """Whether the connections are, of jdbc_*, of the source of changes, and of its stream of the log."""
        session = Session(database_of(self.jdbc), self.jdbc["user"], PASSWORD)
        with closing(session), session.connected() as connection, connection.cursor() as cursor:
            cursor.execute(self._question)
            found = [self._is_yes(cursor.fetchone())]
        if self.kind == "postgres":
            address = address_of(self.cdc)
            with connect(address) as connection:
                found.append(self._is_yes(ask(connection, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0]))
            with new_slot(address, "tls"):
                pass
            try:
                with Stream(address, "tls", ["none"], 0) as stream:
                    found.append(bool(stream._connection.ssl_in_use))
            finally:
                with connect(address) as connection:
                    drop_slot(connection, "tls")
        else:
            login = login_of(self.cdc)
            with connected(login) as connection, connection.cursor() as cursor:
                cursor.execute(self._question)
                found.append(self._is_yes(cursor.fetchone()))
                start = end_of_log(connection)
            with BinlogStream(login, start, server_id=4_711, heartbeat=0.1) as stream:
                stream.poll(5)
                found.append(hasattr(stream._connection._sock, "cipher"))
        return found

    def refusals(self) -> Sequence[PermanentError]:
        """What all of them end with, each before it has shown who we are."""
        found = []
        session = Session(database_of(self.jdbc), self.jdbc["user"], PASSWORD)
        with pytest.raises(PermanentError) as raised, session.connected():
            pass
        found.append(raised.value)
        with pytest.raises(PermanentError) as raised:
            if self.kind == "postgres":
                connect(address_of(self.cdc))
            else:
                with connected(login_of(self.cdc)):
                    pass
        found.append(raised.value)
        return found

    def told(self) -> list[tuple[str, bool]]:
        """The options that checks name, and whether it is but a warning."""
        checks: list[tuple[Any, Config]] = [(JdbcSource(), self.jdbc), (JdbcSink(), self.sink), (self.source, self.cdc)]
        return [(each.key, each.is_warning) for plugin, config in checks for each in plugin.check(config)]

    @property
    def _question(self) -> str:
        postgres = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        return postgres if self.kind == "postgres" else "SHOW STATUS LIKE 'Ssl_cipher'"

    @staticmethod
    def _is_yes(row: Any) -> bool:
        return bool(row[-1])


def kind_of(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["secured"])


def test_a_server_with_the_right_certificate_is_reached_and_one_with_another_is_not(postgres_tls: Secured, tmp_path: Path) -> None:
    right = Reached("postgres", postgres_tls, ssl_mode="verify-full", ssl_ca_location=postgres_tls.authority.certificate)
    assert right.encrypted() == [True] * 3
    other = Authority(tmp_path / "other").certificate
    wrong = Reached("postgres", postgres_tls, ssl_mode="verify-full", ssl_ca_location=other)
    assert [each.option for each in wrong.refusals()] == ["ssl.mode"] * 2
    assert wrong.told() == [("ssl.mode", False)] * 3


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_connections_are_encrypted(secured: Secured, mode: str, request: pytest.FixtureRequest) -> None:
    ca: dict[str, Any] = {} if mode in ("prefer", "require") else {"ssl_ca_location": secured.authority.certificate}
    assert Reached(kind_of(request), secured, ssl_mode=mode, **ca).encrypted() == [True] * 3


def test_a_user_who_has_to_encrypt_is_not_let_in_without(secured: Secured, request: pytest.FixtureRequest) -> None:
    for error in Reached(kind_of(request), secured, ssl_mode="disable").refusals():
        assert PASSWORD not in str(error)


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_a_certificate_of_another_authority_is_refused(
    secured: Secured, mode: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    other = Authority(tmp_path / "other").certificate
    reached = Reached(kind_of(request), secured, ssl_mode=mode, ssl_ca_location=other)
    assert [each.option for each in reached.refusals()] == ["ssl.mode"] * 2
    assert reached.told() == [("ssl.mode", False)] * 3


def test_a_certificate_of_nobody_whom_the_system_trusts_is_refused(secured: Secured, request: pytest.FixtureRequest) -> None:
    assert [each.option for each in Reached(kind_of(request), secured, ssl_mode="verify-full").refusals()] == ["ssl.mode"] * 2


def test_a_certificate_for_another_name_is_refused_where_the_name_counts(secured: Secured, request: pytest.FixtureRequest) -> None:
    secured.shows(secured.authority.sign("db.example"))
    ca: dict[str, Any] = {"ssl_ca_location": secured.authority.certificate}
    reached = Reached(kind_of(request), secured, ssl_mode="verify-full", **ca)
    assert [each.option for each in reached.refusals()] == ["ssl.mode"] * 2
    assert Reached(kind_of(request), secured, ssl_mode="verify-ca", **ca).encrypted() == [True] * 3


def test_a_certificate_that_has_ended_is_refused(secured: Secured, request: pytest.FixtureRequest) -> None:
    secured.shows(secured.authority.sign("127.0.0.1", expired=True))
    reached = Reached(kind_of(request), secured, ssl_mode="verify-full", ssl_ca_location=secured.authority.certificate)
    assert [each.option for each in reached.refusals()] == ["ssl.mode"] * 2
    assert all("certificate" in str(each) for each in reached.refusals())


@pytest.mark.parametrize("password", ["", "of the key"])
def test_a_certificate_of_our_own_is_shown_to_a_server_that_wants_one(
    secured: Secured, password: str, request: pytest.FixtureRequest
) -> None:
    kind = kind_of(request)
    ca: dict[str, Any] = {"ssl_mode": "verify-full", "ssl_ca_location": secured.authority.certificate}
    certificate, key = secured.authority.sign("a-client", password=password)
    more: Mapping[str, Any] = {"ssl_key_password": password} if password else {}
    own: dict[str, Any] = {"ssl_certificate_location": certificate, "ssl_key_location": key, **more}
    assert Reached(kind, secured, "shows", **ca, **own).encrypted() == [True] * 3
    for error in Reached(kind, secured, "shows", **ca).refusals():
        assert any(word in str(error) for word in SHOWS_NONE.split("|"))


@pytest.mark.slow
def test_a_server_without_tls_is_told_where_tls_is_wanted(postgres: str, mariadb: Any) -> None:
    for kind, port in (("postgres", int(postgres.rpartition(":")[2].partition("/")[0])), ("mariadb", mariadb.port)):
        reached = Reached(kind, Secured(port, None, lambda _: None), "postgres", ssl_mode="require")  # type: ignore[arg-type]
        assert [each.option for each in reached.refusals()] == ["ssl.mode"] * 2
