"""What an edited dead letter is told before it is stored: by the stages that would read it, and by the service that asks them."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_kit.errors import InvalidArgument, Unavailable
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.letters.dead_letters import PREFIX, DeadLetter, Filter
from rocketconnect_sdk.topics import Message
from services.executor.contract.answers import CheckedLetter, LettersChecked, PlanFailed
from services.executor.contract.messages import Event, decode_order, encode
from services.executor.contract.questions import CheckLetters, LetterToCheck, Question
from services.executor.deadletters.check import LetterCheck
from services.executor.deadletters.choice import Found
from services.executor.deadletters.replay import Replay
from services.executor.host.jobs.letters.checking import check_letters
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate
from tests.services.executor.configured import CAST, PLAIN, SKIP

SINK = {"connector.class": "file_lines", "engine": "native", "topics": "t", "filename": "/never/read", **PLAIN}
SOURCE = {"connector.class": "file_source", "filename": "/never/read", "topic": "t", **PLAIN}
FAILED = DeadLetter.of(Message("dead/b/0", 7, b"?", {f"{PREFIX}connector.name": "orders", "KEYS": "k"}, 10))


def checked(config: Mapping[str, str], *bodies: bytes, properties: Mapping[str, str] | None = None) -> LettersChecked:
    letters = [LetterToCheck(body, dict(properties or {})) for body in bodies]
    order = decode_order(encode(CheckLetters(dict(config), "back", letters)))
    assert isinstance(order, CheckLetters)
    return check_letters(order)


def test_of_a_sink_each_letter_passes_its_converter_and_its_transforms_alone() -> None:
    answer = checked({**SINK, **CAST}, b"? no json", b'{"id": "x"}', b'{"id": "1"}')
    assert answer.trouble == ""
    unread, unchanged, right = (letter.problem for letter in answer.letters)
    assert unread.startswith("convert: RecordError: ")
    assert unchanged.startswith("transform: RecordError: ")
    assert "'x' is no whole number" in unchanged
    assert right == ""


def test_what_the_transforms_of_a_sink_leave_out_is_no_problem_and_told() -> None:
    answer = checked({**SINK, **SKIP}, b'{"id": 1}', b'{"id": 2}')
    assert answer == LettersChecked([CheckedLetter("", is_dropped=True), CheckedLetter("")], "")


def test_the_key_of_a_letter_must_be_readable_by_its_sink_too() -> None:
    (bad,) = checked({**SINK, **CAST, "key.converter": "json"}, b'{"id": 1}', properties={"KEYS": "{"}).letters
    assert bad.problem.startswith("convert: RecordError: ")


def test_a_letter_must_have_the_columns_of_its_sink() -> None:
    table = {"connector.class": "file_sink", "topics": "t", "filename": "/never/written", "format": "csv", **PLAIN}
    letters = checked({**table, "columns": "id:int64,v:double"}, b'{"id":2,"v":"still"}', b'{"id":2,"v":1.5}').letters
    assert [letter.problem for letter in letters] == [
        'convert: RecordError: the column `v` is a number, and `"still"` is not; make it `string`',
        "",
    ]


def test_a_row_with_types_must_fit_the_columns_of_its_sink() -> None:
    schema = parse_columns("id:int64,v")
    row, wrong = (
        Rows(*array_of([{"id": 1, "v": value}], schema), offsets_of([(1,)])).pack() for value in ("2024-02-29", "someday")
    )
    config = {
        "connector.class": "file_sink",
        "topics": "t",
        "filename": "/never/written",
        "format": "csv",
        "value.converter": "arrow",
    }
    letters = checked({**config, "columns": "id:int64,v:date"}, row, wrong).letters
    assert [letter.problem for letter in letters] == [
        "",
        'convert: RecordError: the column `v` is a date such as 2024-02-29, and `"someday"` is not; make it `string`',
    ]


def test_of_a_source_its_converter_must_read_the_letter_and_its_transforms_are_passed_by() -> None:
    answer = checked({**SOURCE, **CAST}, b"1,a", b"\xff", b'{"id": "x"}')
    assert answer.trouble == ""
    assert [letter.problem.partition(":")[0] for letter in answer.letters] == ["convert", "convert", ""]


def test_a_configuration_that_is_wrong_by_now_says_nothing_of_letters() -> None:
    answer = checked({**SINK, "value.converter": "nobody"}, b"1")
    assert answer.letters == []
    assert "nobody" in answer.trouble


class Hosts(FreshHosts):
    """Give this answer."""

    def __init__(self, answer: Event | Exception) -> None:
        self.asked: list[tuple[Question, float]] = []
        self._answer = answer

    async def ask(self, question: Question, seconds: float, what: str) -> Event:
        self.asked.append((question, seconds))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def edit(hosts: Hosts, kind: connectors.ConnectorType.ValueType, left: float | None = 10.0) -> None:
    failed = connectors.Connector(name="orders", uid="u1", type=kind, config=SINK)
    asyncio.run(LetterCheck(hosts, 60.0).edit(failed, FAILED, b"new", left))


def test_a_body_that_becomes_a_record_passes_as_the_message_that_its_replay_would_be() -> None:
    hosts = Hosts(LettersChecked([CheckedLetter("")], ""))
    edit(hosts, connectors.CONNECTOR_TYPE_SINK)
    sent = LetterToCheck(b"new", {"KEYS": "k", "connect-replay-count": "1"})
    assert hosts.asked == [(CheckLetters(SINK, "RCREPLAY_u1", [sent]), 8.0)]


@pytest.mark.parametrize(
    ("kind", "reader"),
    [
        (connectors.CONNECTOR_TYPE_SINK, "sink 'orders'"),
        (connectors.CONNECTOR_TYPE_SOURCE, "the value converter of source 'orders'"),
    ],
)
def test_a_body_that_can_not_become_a_record_is_refused_with_what_would_fail_at_it(
    kind: connectors.ConnectorType.ValueType, reader: str
) -> None:
    with pytest.raises(InvalidArgument, match="can't become a record") as refused:
        edit(Hosts(LettersChecked([CheckedLetter("convert: RecordError: no JSON")], "")), kind)
    assert f"{reader} would fail at it (convert: RecordError: no JSON)" in refused.value.message
    assert "--unchecked" in refused.value.message


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (LettersChecked([], "the registry does not answer"), "the registry does not answer"),
        (PluginLate("too late"), "too late"),
        (PluginCrashed("a crash"), "a crash"),
        (PlanFailed("no", permanent=True), "another question"),
    ],
)
def test_when_nobody_can_know_nothing_is_stored_and_it_says_why(answer: Event | Exception, why: str) -> None:
    with pytest.raises(Unavailable, match=why) as refused:
        edit(Hosts(answer), connectors.CONNECTOR_TYPE_SINK)
    assert "--unchecked" in refused.value.message


def test_of_a_direct_connector_any_body_passes() -> None:
    hosts = Hosts(LettersChecked([CheckedLetter("bad")], ""))
    edit(hosts, connectors.CONNECTOR_TYPE_DIRECT)
    assert not hosts.asked


def letter(offset: int, body: bytes = b"?", edition: bytes | None = None, **notes: str) -> Found:
    noted = {f"{PREFIX}{name}": value for name, value in {"connector.name": "orders", **notes}.items()}
    made = DeadLetter.of(Message("dead/b/0", offset, body, noted, 10))
    return Found(made, None if edition is None else Message("dead/b/0", 90 + offset, edition, made.edited(edition), 20))


def outcomes(
    hosts: Hosts, letters: Sequence[Found], topic: str = "RCREPLAY_u1", *, own_topics: bool = False
) -> list[tuple[str, int, str]]:
    failed = connectors.Connector(name="orders", uid="u1", type=connectors.CONNECTOR_TYPE_SINK, config=SINK)
    replay = Replay({}, {}, Filter("orders"), topic, own_topics=own_topics)
    found = asyncio.run(LetterCheck(hosts, 60.0).outcomes(failed, replay, letters, 10.0))
    return [(each.id, each.outcome, each.reason) for each in found]


def test_a_dry_run_says_of_each_letter_what_would_become_of_what_is_sent_and_why_the_rest_is_not() -> None:
    hosts = Hosts(LettersChecked([CheckedLetter(""), CheckedLetter("convert: no"), CheckedLetter("", is_dropped=True)], ""))
    cut = letter(1, cut="the first 1 of 9 bytes")
    assert outcomes(hosts, [letter(0, edition=b"new"), cut, letter(2), letter(3)]) == [
        ("b:0:0", pb.OUTCOME_RECORD, ""),
        ("b:0:1", pb.OUTCOME_LEFT_OUT, "only its first part is there; edit it"),
        ("b:0:2", pb.OUTCOME_FAILS, "convert: no"),
        ("b:0:3", pb.OUTCOME_DROPPED, ""),
    ]
    ((question, _),) = hosts.asked
    assert isinstance(question, CheckLetters)
    assert [each.body for each in question.letters] == [b"new", b"?", b"?"]


def test_a_dry_run_asks_nothing_of_what_a_source_never_made_a_message_of() -> None:
    hosts = Hosts(LettersChecked([CheckedLetter("")], ""))
    told = outcomes(hosts, [letter(0, stage="TASK_POLL"), letter(1, b"1,a", b"{}", stage="TASK_POLL")], "t", own_topics=True)
    assert [each[1] for each in told] == [pb.OUTCOME_LEFT_OUT, pb.OUTCOME_RECORD]
    assert "its source could make no message of it" in told[0][2]


def test_a_dry_run_to_another_topic_knows_nothing_of_its_readers() -> None:
    hosts = Hosts(LettersChecked([], ""))
    assert outcomes(hosts, [letter(0)], "elsewhere") == [("b:0:0", pb.OUTCOME_AS_IT_IS, "")]
    assert not hosts.asked


def test_a_dry_run_says_why_nobody_knows() -> None:
    ((_, outcome, reason),) = outcomes(Hosts(PluginLate("too late")), [letter(0)])
    assert (outcome, reason) == (pb.OUTCOME_UNSPECIFIED, "nobody knows whether 'orders' could read it: too late")


def test_one_question_holds_so_many_bytes_and_one_letter_at_least() -> None:
    big = [letter(number, bytes(3 << 20)) for number in range(3)]
    assert len(outcomes(Hosts(LettersChecked([CheckedLetter("")], "")), big)) == 1
    assert len(outcomes(Hosts(LettersChecked([CheckedLetter("")], "")), [letter(0, bytes(5 << 20))])) == 1
