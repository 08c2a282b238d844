"""A check looks at the newest messages of a sink's topics, on a real broker."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.converters.text import StringConverter
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketmq_remoting import Client, Message
from services.executor.contract.answers import Checked
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckConnector
from services.executor.host.jobs import newest
from services.executor.host.jobs.newest import SECONDS
from services.executor.host.jobs.plugins import check
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq
TOMBSTONE = b"-"
PACKED = Rows(*array_of([{"n": 1}], struct([("n", Schema(Type.INT64))])), offsets_of([(1,)])).pack()


@pytest.fixture(scope="module")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server) as made:
        yield made


@pytest.fixture(autouse=True)
def _may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_WRITE_ROOTS", str(tmp_path))


def filled(client: Client, topic: str, *bodies: bytes) -> None:
    client.create_topic(topic, queues=2)
    queues = client.queues(topic)
    for number, body in enumerate(bodies):
        properties = {"connect-tombstone": "1"} if body == TOMBSTONE else {}
        client.send(queues[number % 2], Message(body, properties=properties))
    client.barrier(queues[0].broker)


def checked(name_server: str, topics: str, folder: Path, **options: str) -> Checked:
    config = {"connector.class": "file_sink", "topics": topics, "filename": str(folder / "out"), "format": "parquet"}
    return check(
        CheckConnector(config | {key.replace("_", "."): value for key, value in options.items()}, Endpoints(name_server, ""))
    )


def test_the_options_that_are_proposed_are_right(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-books", *(b'{"year":%d}' % year for year in range(1900, 1950)), TOMBSTONE)
    found = checked(rocketmq.name_server, "newest-books,newest-nobody-made", tmp_path)
    (problem,) = found.problems
    assert not found.notes
    # The tombstone says nothing.
    assert "the newest 50 messages of `newest-books` hold JSON objects without a schema; their fields: year int64" in problem.reason
    assert problem.fix == "Set columns=year:int64."
    found = checked(rocketmq.name_server, "newest-books", tmp_path, columns="year:int64")
    assert (found.problems, found.warnings) == ([], [])
    assert found.notes[0].startswith("it writes 60 s after the first record")


def of_rows(found: Checked) -> list[Problem]:
    """The warnings, without the one that what is dropped is kept nowhere."""
    return [each for each in found.warnings if each.key != "errors.tolerance"]


def test_a_converter_that_cannot_read_what_is_there_is_refused(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-packed", PACKED, PACKED)
    for options in ({}, {"value_converter": "json"}, {"columns": "n:int64"}):
        (problem,) = checked(rocketmq.name_server, "newest-packed", tmp_path, **options).problems
        assert (problem.key, problem.fix) == ("value.converter", "Set value.converter=arrow.")
    tolerant = {"value_converter": "json", "errors_tolerance": "all"}
    found = checked(rocketmq.name_server, "newest-packed", tmp_path, **tolerant)
    assert (found.problems, [each.fix for each in of_rows(found)]) == ([], ["Set value.converter=arrow."])
    found = checked(rocketmq.name_server, "newest-packed", tmp_path, value_converter="arrow")
    assert (found.problems, found.warnings) == ([], [])


@pytest.mark.parametrize(
    "options", [{"format": "text"}, {"format": "jsonlines"}, {"connector_class": "file_lines", "format": "text"}]
)
def test_a_sink_of_lines_is_warned_of_messages_that_it_cannot_read(
    rocketmq: RocketMQ, client: Client, tmp_path: Path, options: dict[str, str]
) -> None:
    filled(client, f"newest-lines-{len(str(options))}", PACKED)

    def told(**more: str) -> list[tuple[str, str]]:
        found = checked(rocketmq.name_server, f"newest-lines-{len(str(options))}", tmp_path, **options, **more)
        assert found.problems == []
        return [(each.key, each.fix) for each in found.warnings]

    assert told() == [("value.converter", "Set value.converter=arrow.")]
    assert told(value_converter="bytes") == [("value.converter", "Set value.converter=arrow.")]
    assert told(value_converter="arrow") == []


@pytest.mark.parametrize(
    "sink",
    [
        {"connector.class": "file_sink", "format": "parquet", "filename": "out"},
        {"connector.class": "delta_sink", "path": "out"},
    ],
)
def test_a_table_of_one_column_of_text_is_made_by_no_sink_in_silence(
    rocketmq: RocketMQ, client: Client, tmp_path: Path, sink: dict[str, str]
) -> None:
    placed = {key: str(tmp_path / value) if value == "out" else value for key, value in sink.items()}
    filled(client, "newest-typed", PACKED)
    filled(client, "newest-objects", b'{"year":1999}')
    filled(client, "newest-texts", b"one")

    def told(topic: str, **more: str) -> tuple[str, str]:
        options = {key.replace("_", "."): value for key, value in more.items()}
        (problem,) = check(CheckConnector({**placed, "topics": topic, **options}, Endpoints(rocketmq.name_server, ""))).problems
        return problem.key, problem.fix

    for more in ({}, {"value_converter": "json"}):
        assert told("newest-typed", **more) == ("value.converter", "Set value.converter=arrow.")
    for more in ({}, {"value_converter": "json", "value_converter_schemas_enable": "false"}):
        assert told("newest-objects", **more) == ("columns", "Set columns=year:int64.")
    key, fix = told("newest-texts")
    assert key == "value.converter"
    assert "transforms.row.type=hoist_field" in fix
    assert told("newest-nobody-made")[0] == "columns"


def test_types_are_proposed_of_more_than_the_newest_few_messages(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-many", b'{"price":1.5}', *[b'{"price":2}'] * 300)
    (problem,) = checked(rocketmq.name_server, "newest-many", tmp_path).problems
    assert problem.fix == "Set columns=price:double."


def test_where_there_is_no_room_for_all_the_newest_of_each_queue_are_looked_at(
    rocketmq: RocketMQ, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "_BYTES", 1 << 20)
    old = b'{"old":"%b"}' % os.urandom(50_000).hex().encode()
    filled(client, "newest-large", *[old] * 40, *[b'{"even":1}', b'{"odd":1}'] * 16)
    (problem,) = checked(rocketmq.name_server, "newest-large", tmp_path).problems
    assert "even int64" in problem.reason
    assert "odd int64" in problem.reason


def test_topics_without_messages_and_brokers_that_are_away_refuse_nothing(
    rocketmq: RocketMQ, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(client, "newest-empty")
    found = checked(rocketmq.name_server, "newest-empty", tmp_path, value_converter="json")
    assert (found.problems, found.warnings) == ([], [])
    monkeypatch.setattr(newest, "SECONDS", SECONDS)
    began = time.monotonic()
    found = checked("127.0.0.1:1", "newest-empty", tmp_path, value_converter="json")
    assert found.problems == []
    assert [(each.key, each.reason.partition(":")[0]) for each in found.warnings] == [("topics", "cannot be looked at now")]
    assert time.monotonic() - began < SECONDS + 60


def test_a_sink_that_is_to_infer_its_columns_is_told_them(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-infer", b'{"year":1999}')
    (problem,) = checked(rocketmq.name_server, "newest-infer", tmp_path, columns="infer").problems
    assert (problem.key, problem.value, problem.fix) == ("columns", "infer", "Set columns=year:int64.")
    assert problem.reason.startswith("is for a file_source, which finds types in its file: a sink has to be told its columns")
    (problem,) = checked(rocketmq.name_server, "newest-nobody-made", tmp_path, columns="infer").problems
    assert problem.fix.startswith("Write name:type, separated by commas")


def test_objects_without_types_are_no_fault_where_a_table_that_is_there_says_the_types(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    filled(client, "newest-table", b'{"year":1999}')
    with closing(sqlite3.connect(tmp_path / "books.db")) as database:
        database.execute("CREATE TABLE books (year INTEGER)")
    table = {"insert.mode": "insert", "pk.mode": "none", "table.name.format": "books"}
    config = {"connector.class": "jdbc_sink", "topics": "newest-table", "connection.url": f"sqlite:///{tmp_path}/books.db", **table}
    found = check(CheckConnector(config, Endpoints(rocketmq.name_server, "")))
    assert found.problems == []
    assert [each.fix for each in found.warnings if each.key == "columns"] == [
        "Set columns=year:int64. Without it a table that is there has to say the types."
    ]


def test_columns_that_no_message_has_are_refused(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-absent", b'{"year":1999}')
    (problem,) = checked(rocketmq.name_server, "newest-absent", tmp_path, columns="yeer").problems
    assert (problem.key, problem.value, problem.fix) == ("columns", "yeer", "Set columns=year:int64.")
    found = checked(rocketmq.name_server, "newest-absent", tmp_path, columns="year,more")
    assert (found.problems, [each.value for each in found.warnings]) == ([], ["year,more"])


def test_topics_of_different_tables_are_told_with_their_columns_before_a_record_is_written(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    other = Rows(*array_of([{"name": "x"}], struct([("name", Schema(Type.STRING))])), offsets_of([(1,)])).pack()
    filled(client, "newest-numbers", PACKED)
    filled(client, "newest-names", other)
    both = "newest-numbers,newest-names"
    found = checked(rocketmq.name_server, both, tmp_path, value_converter="arrow", errors_tolerance="all")
    assert not found.problems
    (warning,) = of_rows(found)
    assert "those of `newest-names` are without n and with name, beside those of `newest-numbers`" in warning.reason
    # They share no column, so those of one of them would all be bad records.
    assert checked(rocketmq.name_server, both, tmp_path, value_converter="arrow").problems
    (tmp_path / "out").mkdir()
    parquet.write_table(pa.table({"n": [1], "more": [2]}), tmp_path / "out" / "theirs.parquet")
    (warning,) = checked(rocketmq.name_server, "newest-numbers", tmp_path, value_converter="arrow").warnings
    assert "has files of another table: the rows of `newest-numbers` are without more" in warning.reason
    # What a transform makes of them is not known.
    dropping = {"transforms": "d", "transforms_d_type": "drop", "transforms_d_predicate": "p", "predicates": "p"}
    dropping |= {"predicates_p_type": "topic_matches", "predicates_p_pattern": "nothing"}
    assert checked(rocketmq.name_server, "newest-numbers", tmp_path, value_converter="arrow", **dropping).warnings == []


def test_transforms_are_tried_on_what_the_converter_reads(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-changed", *[b'{"year":"1999"}'] * 4, b'{"year":"soon"}', TOMBSTONE)
    json = {"connector_class": "stdout", "format": "text", "value_converter": "json", "value_converter_schemas_enable": "false"}

    def warned(**options: str) -> list[tuple[str, str, str]]:
        config = {"connector.class": "stdout", "topics": "newest-changed"}
        config |= {key.replace("_", "."): value for key, value in {**json, **options}.items()}
        found = check(CheckConnector(config, Endpoints(rocketmq.name_server, "")))
        assert found.problems == []
        return [(each.key, each.value, each.reason) for each in found.warnings]

    ((key, value, reason),) = warned(transforms="typed", transforms_typed_type="cast", transforms_typed_spec="year:int64")
    assert (key, value) == ("transforms", "typed")
    assert reason.startswith("cannot change 1 of the newest 5 messages of `newest-changed`: transform typed: ")
    assert warned(transforms="typed", transforms_typed_type="cast", transforms_typed_spec="year:string") == []
    # What starts a process is not tried.
    assert warned(transforms="own", transforms_own_type="python", transforms_own_function="json:loads") == []


def test_a_converter_with_a_defect_refuses_nothing(
    rocketmq: RocketMQ, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(self: object, data: bytes) -> None:
        raise ZeroDivisionError(data)

    monkeypatch.setattr(StringConverter, "decode", decode)
    filled(client, "newest-defect", b"one")
    found = checked(rocketmq.name_server, "newest-defect", tmp_path, format="text")
    assert found.problems == []
    assert [(each.key, "ZeroDivisionError" in each.reason) for each in found.warnings] == [("topics", True)]


def test_a_topic_that_is_not_there_is_told_with_the_one_of_nearly_the_same_name(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    filled(client, "newest-payments-1", b"x")

    def told(topics: str, **options: str) -> list[tuple[str, str, str, str]]:
        found = checked(rocketmq.name_server, topics, tmp_path, format="text", **options)
        assert found.problems == []
        return [(each.key, each.value, each.reason, each.fix) for each in found.warnings]

    meant = "Did you mean newest-payments-1? If not, the topic "
    ((*said, fix),) = told("newest-paymnets-1,newest-payments-1")
    assert (said, fix) == (
        ["topics", "newest-paymnets-1", "is a topic that is not there"],
        f"{meant}is created when the sink starts.",
    )
    ((*_, fix),) = told("newest-paymnets-1", topic_auto_create="false")
    assert fix == f"{meant}has to be created before the sink starts."
    # One that nothing is like, and the next of those that are numbered, are new ones.
    assert told("quite-another") == []
    assert told("newest-payments-2") == []
    # One that is empty is there.
    filled(client, "newest-paymentz-1")
    assert told("newest-paymentz-1") == []


def test_what_a_filter_leaves_out_says_nothing_of_the_converter(rocketmq: RocketMQ, client: Client, tmp_path: Path) -> None:
    client.create_topic("newest-tagged", queues=1)
    (queue,) = client.queues("newest-tagged")
    client.send(queue, Message(b'{"year":1900}', tags="book"))
    client.send(queue, Message(PACKED, tags="note"))
    client.barrier(queue.broker)
    told = {"value_converter": "json", "value_converter_schemas_enable": "false", "columns": "year:int64"}
    assert [each.fix for each in of_rows(checked(rocketmq.name_server, "newest-tagged", tmp_path, **told))] != []
    for filters in ({"consume_tags": "book"}, {"consume_sql": "TAGS = 'book'"}):
        found = checked(rocketmq.name_server, "newest-tagged", tmp_path, **told, **filters)
        assert (found.problems, of_rows(found)) == ([], [])


def test_a_filter_that_brokers_refuse_or_that_a_batch_topic_cannot_have_is_refused(
    rocketmq: RocketMQ, client: Client, tmp_path: Path
) -> None:
    client.create_topic("newest-units", topic_type="batch", queues=1)
    client.create_topic("newest-plain", queues=1)

    def told(topic: str, **filters: str) -> tuple[str, str]:
        (problem,) = checked(rocketmq.name_server, topic, tmp_path, **filters).problems
        return problem.key, problem.reason

    for key, filters in (("consume.tags", {"consume_tags": "book"}), ("consume.sql", {"consume_sql": "n = 1"})):
        named, reason = told("newest-plain,newest-units", **filters)
        assert named == key
        assert reason == (
            "cannot be: topic newest-units is a batch topic, of whose units of several messages brokers filter none: leave "
            f"{key} out and drop records by a transform with a predicate, or read a normal topic"
        )
    key, reason = told("newest-plain", consume_sql="n BETWEEN 5 AND 3")
    assert key == "consume.sql"
    assert "Illegal values of between" in reason
