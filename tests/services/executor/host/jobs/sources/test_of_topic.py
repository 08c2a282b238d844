"""A check looks at the newest messages of a source's topic, on a real broker."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketmq_remoting import Client, Message
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckConnector, Neighbour
from services.executor.host.jobs import newest
from services.executor.host.jobs.newest import SECONDS
from services.executor.host.jobs.plugins import check
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq
NUMBERS = struct([("n", Schema(Type.INT64, optional=True))])
PACKED = Rows(*array_of([{"n": 1}], NUMBERS), offsets_of([(1,)])).pack()
ENVELOPE = (
    b'{"schema":{"type":"struct","optional":false,"fields":[{"field":"n","type":"int64","optional":true}]},"payload":{"n":1}}'
)


@pytest.fixture(scope="module")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server) as made:
        yield made


@pytest.fixture(autouse=True)
def _may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_READ_ROOTS", str(tmp_path))


def filled(client: Client, topic: str, *bodies: bytes, uid: str = "") -> None:
    client.create_topic(topic, queues=1)
    for number, body in enumerate(bodies, start=1):
        properties = {"RCPOS": f"{uid}|1|p|1|{number}"} if uid else {}
        client.send(client.queues(topic)[0], Message(body, properties=properties))
    client.barrier(client.queues(topic)[0].broker)


class Checking:
    """Checks file sources whose topics are on a broker."""

    def __init__(self, name_server: str, folder: Path) -> None:
        self.endpoints = Endpoints(name_server, "")
        self.file = folder / "in.csv"
        self.neighbours: Sequence[Neighbour] = ()

    def warnings(self, topic: str, text: str, **options: str) -> list[Problem]:
        """What is said of the topic, where a file has this text."""
        self.file.write_text(text)
        config = {"connector.class": "file_source", "filename": str(self.file), "topic": topic, "format": "csv"}
        config |= {key.replace("_", "."): value for key, value in options.items()}
        found = check(CheckConnector(config, self.endpoints, "mine", list(self.neighbours)))
        assert found.problems == []
        return [each for each in found.warnings if each.key == "topic"]


@pytest.fixture
def checking(rocketmq: RocketMQ, tmp_path: Path) -> Checking:
    return Checking(rocketmq.name_server, tmp_path)


def test_messages_of_another_form_are_told_with_whose_they_are_and_who_reads_them(client: Client, checking: Checking) -> None:
    filled(client, "origins-packed", PACKED, PACKED, uid="u1")
    checking.neighbours = [Neighbour("old", "u1"), Neighbour("mine", "u2"), Neighbour("lake", "u3", reads=True)]
    (warning,) = checking.warnings("origins-packed", "n\n1\n", value_converter="json")
    assert warning.value == "origins-packed"
    assert warning.reason.startswith(
        "has messages of another form: the newest 2 messages hold rows that value.converter=arrow packed, written by the "
        "connector old; with value.converter=json this source writes JSON with its schema in each message; lake reads this topic"
    )
    assert warning.fix == (
        "Set topic to another one, which has sinks of its own, or value.converter=arrow, which writes what is there."
    )
    # The same of what it has written itself, before its converter was changed.
    checking.neighbours = [Neighbour("mine", "u1")]
    (warning,) = checking.warnings("origins-packed", "n\n1\n", value_converter="json")
    assert "written by this connector" in warning.reason
    checking.neighbours = []
    (warning,) = checking.warnings("origins-packed", "n\n1\n", value_converter="json")
    assert "written by a connector that is not there any more (uid u1)" in warning.reason


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (PACKED, {"value_converter": "arrow", "columns": "infer"}),
        (ENVELOPE, {"value_converter": "json", "columns": "infer"}),
        (b'{"n":1}', {"value_converter": "json", "value_converter_schemas_enable": "false", "columns": "infer"}),
        (b'{"n":"1"}', {}),
        (b'{"n":"1"}', {"value_converter": "string"}),
    ],
)
def test_nothing_is_told_where_the_forms_agree(client: Client, checking: Checking, body: bytes, options: dict[str, str]) -> None:
    topic = f"origins-agree-{abs(hash((body, str(options))))}"
    filled(client, topic, body)
    assert checking.warnings(topic, "n\n1\n", **options) == []


def test_nothing_is_told_of_a_topic_that_is_empty_or_not_there(client: Client, checking: Checking) -> None:
    filled(client, "origins-empty")
    assert checking.warnings("origins-empty", "n\n1\n", value_converter="json") == []
    assert checking.warnings("origins-nobody-made", "n\n1\n", value_converter="json") == []


@pytest.mark.parametrize("converter", ["arrow", "json", "string"])
def test_another_table_is_told_with_the_columns_that_differ(client: Client, checking: Checking, converter: str) -> None:
    body = {"arrow": PACKED, "json": ENVELOPE, "string": b'{"n":1}'}[converter]
    filled(client, f"origins-table-{converter}", body)
    (warning,) = checking.warnings(f"origins-table-{converter}", "year\n1999\n", value_converter=converter, columns="infer")
    assert warning.reason.startswith(
        "has messages with other columns, written by programs that are no connectors, than this source writes: "
        "only those have n; only this source has year"
    )
    assert warning.reason.endswith(
        "a sink that takes the one fails at the other, leaves fields out or widens its table for both, as its schema.evolution says"
    )
    assert warning.fix == (
        "Set topic to another one, which has sinks of its own, or let the source write the columns that are there."
    )


def test_a_column_of_another_type_is_told(client: Client, checking: Checking) -> None:
    filled(client, "origins-type", PACKED)
    (warning,) = checking.warnings("origins-type", "n\none\n", value_converter="arrow")
    assert "n is int64 there, and would be string" in warning.reason
    filled(client, "origins-delimiter", b'{"year":"1999","title":"Emma"}')
    assert checking.warnings("origins-delimiter", "year;title\n1999;Emma\n", csv_delimiter=";") == []
    (warning,) = checking.warnings("origins-delimiter", "year;title\n1999;Emma\n")
    assert "only those have year, title; only this source has year;title" in warning.reason


def test_lines_of_json_may_lack_fields_that_others_have(client: Client, checking: Checking) -> None:
    filled(client, "origins-lines", b'{"id":1,"more":true}', b'{"id":2}')
    assert checking.warnings("origins-lines", '{"id":3,"other":1}\n', format="jsonlines") == []
    (warning,) = checking.warnings("origins-lines", '{"id":"three"}\n', format="jsonlines")
    assert "id is a number there, and would be text" in warning.reason
    (warning,) = checking.warnings("origins-lines", "a line\n", format="text")
    assert "this source writes JSON values that are no objects or text" in warning.reason
    # Some lines of a text may well be JSON, but none is packed.
    filled(client, "origins-text", b"a line", b'{"id":1}')
    assert checking.warnings("origins-text", "a line\n", format="text") == []
    filled(client, "origins-text", PACKED)
    (warning,) = checking.warnings("origins-text", "a line\n", format="text")
    assert "2 of the newest 3 messages hold 1 " in warning.reason


def test_what_transforms_make_of_records_is_compared(client: Client, checking: Checking) -> None:
    filled(client, "origins-cast", PACKED)
    cast = {"transforms": "typed", "transforms_typed_type": "cast", "transforms_typed_spec": "n:int64"}
    assert checking.warnings("origins-cast", "n\n1\n", value_converter="arrow", **cast) == []
    assert len(checking.warnings("origins-cast", "n\n1\n", value_converter="arrow")) == 1
    # Of one that starts a process nobody knows what it makes; the form is known.
    own = {"transforms": "own", "transforms_own_type": "python", "transforms_own_function": "json:loads"}
    assert checking.warnings("origins-cast", "n\n1\n", value_converter="arrow", **own) == []
    assert len(checking.warnings("origins-cast", "n\n1\n", value_converter="json", **own)) == 1


def test_brokers_that_are_away_and_a_defect_of_the_plugin_refuse_nothing(
    client: Client, tmp_path: Path, checking: Checking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "SECONDS", SECONDS)
    began = time.monotonic()
    (warning,) = Checking("127.0.0.1:1", tmp_path).warnings("origins-away", "n\n1\n", value_converter="json")
    assert warning.reason.startswith("cannot be looked at now: ")
    assert warning.fix.startswith("Whether what is in there has the form that the source writes was not checked")
    assert time.monotonic() - began < SECONDS + 60

    def sample(self: FileSource, config: Config) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(FileSource, "sample", sample)
    filled(client, "origins-defect", PACKED)
    assert checking.warnings("origins-defect", "n\n1\n", value_converter="arrow") == []
    assert len(checking.warnings("origins-defect", "n\n1\n", value_converter="json")) == 1
