"""What a check says before a connector runs, and what requests are made of."""

import logging
import re
from pathlib import Path

import pytest

from connectors.doris.client import Client, State
from connectors.doris.endpoint import Endpoint, Login, literal, quoted
from connectors.doris.faults import refused
from connectors.doris.sink import DorisSink
from connectors.doris.tables import model_of
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Config, parse, read
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.tables.faults import Fault
from tests.connectors.doris.run import opened
from tests.servers.doris import Doris
from tests.servers.doris.cluster import USER


def look(options: dict[str, str]) -> list[Problem]:
    config, problems = read(DorisSink.options, options)
    return [*problems, *DorisSink().check(config)]


def test_what_works_has_no_problems(doris: Doris, options: dict[str, str]) -> None:
    assert look(options) == []
    opened(options).start().write(3)
    assert look(options) == []
    assert doris.states() == ["VISIBLE"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"table.create": "false"}, "table: is no table of http://.*/shop that the user sees"),
        ({"url": "http://doris:8030/path"}, "url: is no URL of a server"),
        ({"backends": "be:8040"}, "backends: is no URL of a server .*Write http://HOST:8040"),
        ({"insert.mode": "upsert"}, "pk.fields: is missing, and a table that is made for upsert needs a key"),
        ({"delete.enabled": "true"}, "delete.enabled: means nothing where each record is a new row"),
        ({"pk.mode": "record_key"}, "pk.mode: means nothing where each record is a new row"),
        ({"table.properties": "replication_num"}, "table.properties: is no list of properties"),
        ({"user": "nobody"}, "user: .*Access denied for user 'nobody'.*Correct user and password"),
    ],
)
def test_what_is_wrong_is_told_with_its_fix(doris: Doris, options: dict[str, str], changes: dict[str, str], said: str) -> None:
    del doris
    found = look(options | changes)
    assert len(found) == 1
    assert re.match(said, str(found[0])), found[0]


def test_a_table_of_another_model_is_told(doris: Doris, options: dict[str, str]) -> None:
    columns = "`id` INT NOT NULL, `name` STRING NULL"
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`rows` ({columns}) UNIQUE KEY (`id`) DISTRIBUTED BY HASH (`id`) BUCKETS 1")
    (problem,) = look(options)
    assert (problem.key, problem.fix) == ("table", "Set insert.mode=upsert, or make the table with a DUPLICATE KEY.")
    config = parse(DorisSink.options, options)
    config = Config({**{key: config[key] for key in config}, "errors.tolerance": "none"}, config.raw)
    schema = struct([("id", Schema(Type.INT32)), ("more", Schema(Type.STRING))])
    assert any("more" in str(each) for each in DorisSink().check_rows(config, {"rows": schema}))


def test_a_server_that_does_not_answer_is_a_warning(doris: Doris, options: dict[str, str]) -> None:
    doris.kill()
    (problem,) = look(options)
    assert problem.is_warning
    assert problem.key == "url"


def test_a_password_goes_with_every_request_and_into_no_message(
    doris: Doris, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    doris.password = "the-secret"
    config = parse(DorisSink.options, options)
    known = Config({**{key: config[key] for key in config}, "password": "the-secret"}, config.raw)
    with caplog.at_level(logging.DEBUG, logger="doris"):
        assert list(DorisSink().check(known)) == []
        client = Client(Endpoint(options["url"], 0, "shop"), Login(USER, "the-secret"))
        doris.run("CREATE TABLE IF NOT EXISTS `shop`.`t` (`id` INT NULL) DUPLICATE KEY (`id`) DISTRIBUTED BY RANDOM BUCKETS AUTO")
        number = client.load("t", b'{"id": 1}', "label-1", ["id"], deletes=False)
        client.commit("shop", number)
        assert client.state("shop", "label-1") is State.VISIBLE
        wrong = Client(client.place, Login(USER, "another-secret"))
        for work in (lambda: wrong.state("shop", "x"), lambda: wrong.load("t", b"{}", "x", ["id"], deletes=False)):
            with pytest.raises(PermanentError, match=r"does not let the user do it.*GRANT the user 'root'") as told:
                work()
            assert "another-secret" not in str(told.value)
    assert "the-secret" not in caplog.text


def test_rows_go_to_backends_that_are_named(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options | {"backends": f"{doris.backend},{doris.backend}/"}).start()
    run.write(5)
    assert doris.states() == ["VISIBLE"]


def test_a_frontend_that_ends_each_connection_without_a_word_is_no_matter(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    for until in range(1, 4):
        run.write(until)
    assert doris.states() == ["VISIBLE"] * 3


def test_a_backend_that_cannot_be_reached_is_told_with_its_address(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options | {"backends": "http://127.0.0.1:9"}).start()
    with pytest.raises(SystemAway, match=r"http://127.0.0.1:9/api/shop/rows/_stream_load does not answer: "):
        run.write(5)


def test_a_load_that_failed_is_not_left_lying_there(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options).start()
    doris.on = lambda asked: "lose" if asked == "load" else ""
    with pytest.raises(SystemAway):
        run.write(5)
    assert doris.states() == ["ABORTED"]


def test_a_label_that_somebody_has_used_is_another_ones_load(doris: Doris, options: dict[str, str]) -> None:
    opened(options).start().write(1)
    client = Client(Endpoint(options["url"], 0, "shop"), Login(USER, ""))
    client.load("rows", b'{"queue": 1, "offset": 1}', "label-1", ["queue", "offset"], deletes=False)
    with pytest.raises(SystemAway, match=r"Label Already Exists: .*has already been used, relate to txn"):
        client.load("rows", b'{"queue": 1, "offset": 1}', "label-1", ["queue", "offset"], deletes=False)
    assert client.state("shop", "label-1") is State.ABORTED
    assert client.state("shop", "label-2") is State.UNKNOWN


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Fail: [DATA_QUALITY_ERROR]too many filtered rows", Fault.VALUES),
        ("errCode = 2, detailMessage = current running txns on db 10006 is 100, larger than limit 100", Fault.BUSY),
        ("[E-235]failed to init rowset builder. version count: 2001, exceed limit: 2000", Fault.BUSY),
        ("[INTERNAL_ERROR]failed to find alive backend", Fault.BUSY),
        ("There is no 100-continue header", Fault.OTHER),
        ("errCode = 2, detailMessage = Unknown database 'shop'", Fault.MISSING),
        ("Access denied; you need (at least one of) the (LOAD) privilege(s)", Fault.DENIED),
    ],
)
def test_what_is_said_is_understood(text: str, fault: Fault) -> None:
    assert refused(text).fault is fault


def test_names_and_texts_stand_in_statements_as_they_are() -> None:
    assert (quoted("a`b"), literal("it's \\")) == ("`a``b`", "'it\\'s \\\\'")
    statement = "CREATE TABLE `t` (\n  `UNIQUE KEY(` int NULL,\n) ENGINE=OLAP\nUNIQUE KEY(`a``b`, `c`)\nDISTRIBUTED BY HASH(`c`)"
    assert model_of(statement) == ("UNIQUE", ["a`b", "c"])
    assert model_of("CREATE TABLE `t` (...) ENGINE=OLAP\nDISTRIBUTED BY RANDOM") == ("DUPLICATE", ())


def test_the_configuration_of_the_page_is_one(doris: Doris) -> None:
    """But for its server."""
    page = (Path(__file__).parents[3] / "docs" / "doris.md").read_text()
    import json

    for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL):
        given = json.loads(text)
        assert given.pop("connector.class") == "doris_sink"
        own = {each.key for each in DorisSink.options}
        config = {key: value for key, value in given.items() if key in own}
        assert set(given) - own <= {"engine", "topics", "max.tasks", "value.converter", "key.converter"}
        found = look(config | {"url": doris.url, "query.port": doris.options("shop")["query.port"], "user": USER})
        assert [each for each in found if not each.is_warning] == []
