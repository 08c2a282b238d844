"""What a source could not read, as somebody has corrected it: it becomes the message that the source would have sent."""

import asyncio
import json
from pathlib import Path

import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import InvalidArgument, Unavailable
from rocketconnect_sdk.columns.rows import unpack, values_of
from rocketconnect_sdk.letters.dead_letters import PREFIX, DeadLetter
from rocketconnect_sdk.topics import Message
from services.executor.contract.answers import LettersChecked, MadeAgain
from services.executor.contract.messages import Event, decode_event, decode_order, encode
from services.executor.contract.questions import Question, ReadAgain
from services.executor.deadletters.check import LetterCheck
from services.executor.host.jobs.letters.again import read_again
from services.executor.hosts.fresh import FreshHosts, PluginLate
from tests.services.executor.configured import CAST, PLAIN, SKIP

PARTITION = "/gone.csv#1-1-1-1-0"


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, str]:
    """A source of rows with types, packed."""
    file = tmp_path / "rows.csv"
    file.write_text("id,day\n1,2024-02-29\n")
    config = {"connector.class": "file_source", "filename": str(file), "topic": "t", "format": "csv"}
    return {**config, "columns": "id:int64,day:date", "value.converter": "arrow"}


def made(config: dict[str, str], original: bytes) -> MadeAgain:
    order = decode_order(encode(ReadAgain(config, PARTITION, original)))
    assert isinstance(order, ReadAgain)
    answer = decode_event(encode(read_again(order)))
    assert isinstance(answer, MadeAgain)
    return answer


def test_a_corrected_line_becomes_a_row_with_the_types_of_its_columns(rows: dict[str, str]) -> None:
    answer = made(rows, b"7,2024-03-01\n")
    assert (answer.problem, answer.trouble, answer.topic) == ("", "", "t")
    (value,) = values_of(unpack(answer.body))
    assert isinstance(value, dict)
    assert (value["id"], str(value["day"])) == (7, "2024-03-01")


def test_the_row_has_the_key_that_it_would_have_had_in_its_properties_too(rows: dict[str, str]) -> None:
    answer = made({**rows, "key.field": "id", "key.converter": "json", "key.converter.schemas.enable": "false"}, b"7,2024-03-01")
    assert answer.properties == {"KEYS": "7"}
    keys = unpack(answer.body).keys
    assert keys is not None
    assert keys.to_pylist() == [b"7"]


def test_a_line_that_the_source_still_cannot_read_says_so_in_the_words_of_the_source(rows: dict[str, str]) -> None:
    answer = made(rows, b"x,2024-03-01")
    assert answer.problem.startswith("poll: InvalidCsv: the column `id` is ")


@pytest.mark.parametrize(("given", "count"), [(b"", "no record"), (b"1,2024-03-01\n2,2024-03-01\n", "2 records")])
def test_what_is_not_one_record_is_refused(rows: dict[str, str], given: bytes, count: str) -> None:
    assert made(rows, given).problem == f"poll: it holds {count}, and stands in the place of one"


def test_it_passes_the_transforms_and_the_converter(rows: dict[str, str]) -> None:
    plain = {**rows, **PLAIN, "columns": ""}
    assert json.loads(made({**plain, **CAST}, b"7,a").body) == {"id": 7, "day": "a"}
    assert made({**plain, **CAST}, b"x,a").problem.startswith("transform: RecordError: transform types: ")
    left_out = made({**plain, **SKIP, "columns": "id:int64"}, b"1,a")
    assert left_out.problem == "transform: the transforms make nothing: they leave it out"


def test_the_header_is_that_of_another_file_where_its_own_is_gone_and_none_at_all_is_told(rows: dict[str, str]) -> None:
    Path(rows["filename"]).write_text("day,id\n")
    assert made(rows, b"2024-03-01,7").problem == ""
    Path(rows["filename"]).unlink()
    told = made(rows, b"2024-03-01,7")
    assert "put one there that has nothing but the header" in told.trouble


def test_a_source_that_reads_no_bytes_says_so() -> None:
    config = {"connector.class": "mysql_cdc_source", "topic": "t", "host": "h", "user": "u", "tables": "d.t"}
    answer = made(config, b"x")
    assert answer.trouble or not answer.is_read


class Hosts(FreshHosts):
    """Answer as a fresh host does, over the same line; or with this."""

    def __init__(self, instead: Event | Exception | None = None) -> None:
        self._instead = instead

    async def ask(self, question: Question, seconds: float, what: str) -> Event:
        if isinstance(self._instead, Exception):
            raise self._instead
        assert isinstance(question, ReadAgain)
        return self._instead or read_again(question)


def asked(config: dict[str, str], record: bytes, hosts: FreshHosts, *, stage: str = "TASK_POLL", is_sink: bool = False) -> object:
    notes = {f"{PREFIX}stage": stage, f"{PREFIX}source.partition": PARTITION}
    letter = DeadLetter.of(Message("dead/b/0", 7, b"?", notes, 10))
    kind = connectors.CONNECTOR_TYPE_SINK if is_sink else connectors.CONNECTOR_TYPE_SOURCE
    failed = connectors.Connector(name="rows", uid="u", type=kind, config=config)
    return asyncio.run(LetterCheck(hosts, 60.0).read_again(failed, letter, record, 10.0))


def test_only_what_a_source_could_not_read_is_read_again(rows: dict[str, str]) -> None:
    assert asked(rows, b"7,2024-03-01", Hosts()) == made(rows, b"7,2024-03-01")
    assert asked(rows, b"7,2024-03-01", Hosts(), stage="CONVERTER") is None
    assert asked(rows, b"7,2024-03-01", Hosts(), is_sink=True) is None
    assert asked(rows, b"7,2024-03-01", Hosts(MadeAgain(is_read=False))) is None


def test_what_the_source_fails_at_again_is_refused_and_what_nobody_knows_is_not_stored(rows: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=r"source 'rows' would fail at it as well \(poll: InvalidCsv: "):
        asked(rows, b"7", Hosts())
    for answer in (MadeAgain(trouble="no file"), PluginLate("too late"), LettersChecked([], "")):
        with pytest.raises(Unavailable, match="nothing is stored"):
            asked(rows, b"7", Hosts(answer))
