"""What an edited dead letter is told before it is stored: by the stages that would read it, and by the service that asks them."""

import asyncio
from collections.abc import Mapping

import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import InvalidArgument, Unavailable
from rocketconnect_sdk.dead_letters import PREFIX, DeadLetter
from rocketconnect_sdk.topics import Message
from services.executor.deadletters.check import LetterCheck
from services.executor.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.host.letters import check_letters
from services.executor.messages import (
    CheckedLetter,
    CheckLetters,
    Event,
    LettersChecked,
    LetterToCheck,
    PlanFailed,
    Question,
    decode_order,
    encode,
)

PLAIN = {"value.converter": "json", "value.converter.schemas.enable": "false"}
CAST = {"transforms": "types", "transforms.types.type": "cast", "transforms.types.spec": "id:int64"}
SINK = {"connector.class": "file_lines", "engine": "native", "topics": "t", "filename": "/never/read", **PLAIN}
SOURCE = {"connector.class": "file_source", "filename": "/never/read", "topic": "t", **PLAIN}
SKIP = {
    "transforms": "skip",
    "transforms.skip.type": "filter",
    "transforms.skip.predicate": "small",
    "predicates": "small",
    "predicates.small.type": "field_condition",
    "predicates.small.field": "id",
    "predicates.small.operator": "<",
    "predicates.small.value": "2",
}
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
