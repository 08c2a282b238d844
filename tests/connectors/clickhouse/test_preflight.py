"""What is told before a sink runs."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from connectors.clickhouse import client
from connectors.clickhouse.dialect import ClickHouse as Tables
from connectors.clickhouse.sink import ClickHouseSink
from rocketconnect_sdk.configuration.connector_options import check_connector, sink_options
from rocketconnect_sdk.conformance.runs import LOG
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import Answer
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.targets.owned import Target
from tests import free_ports
from tests.connectors.clickhouse.run import Run, opened
from tests.servers.clickhouse import PASSWORD, ClickHouse

_PLACES = "_rc_queue String, _rc_offset UInt64, _rc_row UInt32"


def problems(options: Mapping[str, str], *, warnings: bool = False) -> dict[str, str]:
    config = {"connector.class": "clickhouse_sink", "engine": "native", "topics": "orders", **options}
    found = check_connector(config).problems
    return {each.key: f"{each.reason}. {each.fix}" for each in found if each.is_warning is warnings}


def test_what_works_has_no_problem(clickhouse: ClickHouse) -> None:
    clickhouse.run(f"CREATE TABLE orders (id Int32, {_PLACES}) ENGINE = MergeTree ORDER BY id")
    assert problems(clickhouse.options()) == {}


def test_all_that_is_wrong_is_told_at_once(clickhouse: ClickHouse) -> None:
    told = problems({"url": "ftp://x", "table.engine": "Log", "columns": "a:int99", "delivery": "never", "compression": "rar"})
    assert set(told) >= {"url", "table.engine", "columns", "delivery", "compression"}
    assert "means nothing without table.create" in told["table.engine"]


def test_a_table_that_is_not_there_is_told(clickhouse: ClickHouse) -> None:
    assert "is no table of" in problems(clickhouse.options())["table"]
    assert problems(clickhouse.options() | {"table.create": "true"}) == {}
    assert (
        "CREATE DATABASE nowhere" in problems({**clickhouse.options(), "database": "nowhere", "table.create": "true"})["database"]
    )


def test_an_engine_that_changes_rows_and_a_table_without_places_are_told(clickhouse: ClickHouse) -> None:
    clickhouse.run(f"CREATE TABLE orders (id Int32, {_PLACES}) ENGINE = SummingMergeTree ORDER BY id")
    assert "has the engine SummingMergeTree" in problems(clickhouse.options())["table"]
    assert problems(clickhouse.options() | {"delivery": "at_least_once"}) == {}
    made = problems({**clickhouse.options(), "table": "made", "table.create": "true", "table.engine": "ReplacingMergeTree (x)"})
    assert "the engine ReplacingMergeTree, and delivery=exactly_once needs" in made["table.engine"]
    clickhouse.run("DROP TABLE orders", "CREATE TABLE orders (id Int32, _rc_row UInt32) ENGINE = MergeTree ORDER BY id")
    told = problems(clickhouse.options())["table"]
    assert "lacks the columns _rc_queue, _rc_offset," in told
    clickhouse.run(told.partition("Run ")[2].partition("; or")[0])
    assert problems(clickhouse.options()) == {}


def test_all_columns_that_differ_are_told(clickhouse: ClickHouse) -> None:
    clickhouse.run(f"CREATE TABLE orders (id Int32, day Date, name String, {_PLACES}) ENGINE = MergeTree ORDER BY id")
    told = problems(clickhouse.options() | {"columns": "id:string,day:boolean,name,more"})["columns"]
    assert all(part in told for part in ("id is string", "day is boolean", "more (string) is no column", "id:int32,day:date,name"))
    sink = ClickHouseSink()
    config = check_parsed(clickhouse.options())
    rows = struct(
        [("id", Schema(Type.STRING)), ("day", Schema(Type.DATE)), ("name", Schema(Type.STRING)), ("x", Schema(Type.INT8))]
    )
    (found,) = sink.check_rows(config, {"orders": rows})
    assert "id is string, and the column is int32; x (int8) is no column" in found.reason
    assert list(sink.check_rows(config, {"other": rows})) == []


def check_parsed(options: Mapping[str, str]) -> Config:
    return parse(sink_options(ClickHouseSink()), {"connector.class": "clickhouse_sink", "topics": "orders", **options})


def test_a_server_that_does_not_answer_is_a_warning_and_waited_for() -> None:
    away = {"url": f"http://127.0.0.1:{free_ports.choose()}"}
    assert problems(away) == {}
    assert "does not answer" in problems(away, warnings=True)["url"]
    with pytest.raises(SystemAway, match="does not answer"):
        opened(away).start()


def test_a_wrong_password_is_told_and_never_shown(old_clickhouse: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    server = old_clickhouse.with_database("login")
    options = server.options() | {"user": "tester", "password": "${env:CLICKHOUSE_SECRET}", "table.create": "true"}
    assert problems(options) == {}
    wrong = "not-the-secret"
    task = opened_with(options, wrong)
    dialect = task.task._dialect
    assert isinstance(dialect, Tables)
    with pytest.raises(PermanentError, match="does not let the user do it") as told:
        task.start()
    assert wrong not in f"{told.value!r} {told.value} {told.value.__cause__} {dialect._client._http._login}"
    opened_with(options, PASSWORD).start().write(5)


def opened_with(options: dict[str, str], password: str) -> Run:
    sink = ClickHouseSink()
    config = parse(sink.options, options).replaced(lambda text: password if text == "${env:CLICKHOUSE_SECRET}" else text)
    return Run(sink.open(config, {}, TaskContext("orders", "uid", log=LOG)), {}, 1, 0, "uid")


def test_a_user_who_may_only_read_is_told_by_the_task(old_clickhouse: ClickHouse) -> None:
    server = old_clickhouse.with_database("reading")
    with pytest.raises(PermanentError, match="GRANT the user 'reader' what is missing"):
        opened(server.options() | {"user": "reader", "table.create": "true"}).start()


def test_a_table_has_one_connector() -> None:
    def named(**options: str) -> list[Target]:
        return list(ClickHouseSink().targets(parse(ClickHouseSink.options, {"url": "http://host:8123", **options})))

    assert named(table="a") == named(table="default.a", url="http://host:8123/") == [Target("table", "http://host:8123 default.a")]
    assert named(table="a") != named(table="a", database="b")
    assert named(table="b.a") == named(table="a", database="b")


def test_a_key_without_its_certificate_is_told() -> None:
    away = {"url": f"https://127.0.0.1:{free_ports.choose()}", "ssl.key.location": "/a.pem"}
    assert problems(away) == {"ssl.key.location": "is a key without a certificate. Set ssl.certificate.location, or remove it."}


def test_a_file_of_certificates_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    options = {"url": "https://127.0.0.1:1", "ssl.ca.location": str(tmp_path / "ca.pem")}
    with pytest.raises(PermanentError, match="Put a readable file with certificates"):
        opened(options).start()


def test_what_is_sent_is_compressed_where_that_is_wanted(new_clickhouse: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    real, sent = client.send, []

    def send(made: object, parameters: Mapping[str, str], body: bytes, headers: Mapping[str, str]) -> Answer:
        if "INSERT" in parameters.get("query", ""):
            sent.append((headers.get("Content-Encoding"), len(body)))
        return real(made, parameters, body, headers)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(client, "send", send)
    for number, compression in enumerate(("none", "gzip")):
        server = new_clickhouse.with_database(f"sent{number}")
        opened(server.options() | {"table": "t", "table.create": "true", "compression": compression}).start().write(1000)
        assert server.run("SELECT count(), max(offset) FROM t") == [[1000, 999]]
    (plain, packed) = (each for each in sent if each[1] > 2000)
    assert (plain[0], packed[0]) == (None, "gzip")
    assert packed[1] < plain[1] / 2


def test_a_server_with_a_certificate_is_trusted_by_whoever_trusts_that_and_by_nobody_else(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    with ClickHouse(tls=(certificate, key)).running() as server:
        options = {"url": server.tls_url, "table": "rows", "table.create": "true"}
        with pytest.raises(SystemAway, match="the certificate of the server is not trusted"):
            opened(options).start()
        opened(options | {"ssl.ca.location": str(certificate)}).start().write(10)
        assert server.run("SELECT count() FROM rows") == [[10]]


def test_a_table_of_very_many_columns_says_what_the_server_must_allow(old_clickhouse: ClickHouse, database: str) -> None:
    server = old_clickhouse.with_database(database)
    names = [f"a_column_with_a_long_name_{number}" for number in range(500)]
    run = opened(server.options() | {"table": "wide", "table.create": "true"}).start()
    with pytest.raises(PermanentError, match="http_max_uri_size"):
        run.write_values([dict.fromkeys(names, "x")], struct([(name, Schema(Type.STRING)) for name in names]))
