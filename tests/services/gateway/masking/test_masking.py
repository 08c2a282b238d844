"""No answer that shows records has what is masked, in whatever form, and nobody stores a mask."""

import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from google.protobuf.message import Message
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceServicer, add_ConfigServiceServicer_to_server
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.record.v1.record_pb2 import PreviewedRecord, PreviewStep, ShownRecord
from rocketconnect.topic.v1 import topic_service_pb2 as topics
from rocketconnect.topic.v1.topic_service_pb2_grpc import TopicServiceServicer, add_TopicServiceServicer_to_server

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, ServiceError
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test
from services.gateway.backends import Backends
from services.gateway.masking.masking import Masking
from services.gateway.masking.rules import Rules

SECRET = "a@b.example"
RECORD = f'{{"id":1,"email":"{SECRET}"}}'
SAFE = '{"id":1,"email":"***"}'
PACKED = base64.b64encode(SECRET.encode()).decode()
THERE = [
    connectors.Connector(name="out", config={"topics": "people", "errors.deadletterqueue.topic.name": "people-dead"}),
    connectors.Connector(name="other", config={"topics": "orders", "errors.deadletterqueue.topic.name": "orders-dead"}),
]
NOTED = {"__connect.errors.exception.message": f"bad {SECRET}"}


def told(value: Message) -> str:
    """All that an answer tells, and what its bytes are as base64 and in hexadecimal digits."""
    return f"{value}{value.SerializeToString()!r}"


def letter(connector: str = "out", origin: str = "people/b/0:7") -> letters.GetDeadLetterResponse:
    head = letters.DeadLetter(
        id="b:0:1", topic=f"{connector}-dead", connector=connector, message=f"bad {SECRET}", key=SECRET, tags=SECRET, origin=origin
    )
    row = letters.PackedRow(value=RECORD, key=SECRET, headers={"h": SECRET}, problem=SECRET)
    return letters.GetDeadLetterResponse(
        dead_letter=head,
        body=RECORD.encode(),
        original_body=SECRET.encode(),
        properties={
            "KEYS": SECRET,
            "mail": SECRET,
            "UNIQ_KEY": "u",
            "connect-key-base64": base64.b64encode(SECRET.encode()).decode(),
        },
        trace=f"at {SECRET}",
        notes={"exception.message": f"bad {SECRET}", "topic": "people"},
        packed=letters.PackedRows(rows=[row], count=1),
    )


class Asked:
    """A masking in front of one dead letter."""

    def __init__(self, rules: str = "people=email") -> None:
        self.letter = letter()
        self.masking = Masking(Rules(rules), self._there, self._letter)

    async def _there(self) -> list[connectors.Connector]:
        return THERE

    async def _letter(self, request: letters.GetDeadLetterRequest) -> Message:
        answer: Message = await self.answered(request, self.letter)
        return answer

    async def answered(self, request: Message, answer: Any) -> Any:
        if self.masking.concerns(request):
            fields = await self.masking.check(request)
            self.masking.hide(request, answer, fields)
        return answer

    async def refused(self, request: Message) -> str:
        with pytest.raises(ServiceError) as raised:
            await self.masking.check(request)
        assert (raised.value.reason, raised.value.code) == ("MASKED", "FAILED_PRECONDITION")
        return raised.value.message


def peeked(**more: Any) -> topics.PeekTopicResponse:
    shown = ShownRecord(value=RECORD, has_value=True, key=SECRET, has_key=True, headers={"h": SECRET})
    whole = topics.TopicRecord(record=shown, properties={"KEYS": SECRET, "UNIQ_KEY": "u", **more})
    unread = topics.TopicRecord(body=SECRET, problem=f"{SECRET} is no JSON", properties=more)
    return topics.PeekTopicResponse(records=[whole, unread])


@pytest.mark.parametrize("converter", ["", "json", "org.apache.kafka.connect.json.JsonConverter"])
async def test_of_messages_the_fields_are_masked_and_keys_headers_properties_and_what_went_wrong(converter: str) -> None:
    request = topics.PeekTopicRequest(topic="people", config={"value.converter": converter} if converter else {})
    answer = await Asked().answered(request, peeked())
    whole, unread = answer.records
    assert (whole.record.value, whole.record.key, dict(whole.record.headers)) == (SAFE, "***", {"h": "***"})
    assert dict(whole.properties) == {"KEYS": "***", "UNIQ_KEY": "u"}
    assert (unread.body, unread.problem) == ("***", "***")
    assert SECRET not in told(answer)
    assert list(answer.masked) == ["email", "headers", "key", "message", "value"]


@pytest.mark.parametrize("converter", ["string", "csv", "avro", "maxwell", "my.JsonConverterOfMine"])
async def test_what_is_read_by_a_converter_with_names_of_its_own_is_masked_as_a_whole(converter: str) -> None:
    renamed = topics.PeekTopicResponse(
        records=[topics.TopicRecord(record=ShownRecord(value='{"x":"a@b.example"}', has_value=True))]
    )
    request = topics.PeekTopicRequest(topic="people", config={"value.converter": converter})
    answer = await Asked().answered(request, renamed)
    assert (answer.records[0].record.value, list(answer.masked)) == ("***", ["value"])


@pytest.mark.parametrize(
    ("topic", "properties"),
    [
        ("people-dead", {}),
        ("%RETRY%group", {}),
        ("elsewhere", {"RETRY_TOPIC": "people"}),
        ("elsewhere", {"DLQ_ORIGIN_TOPIC": "people"}),
        # Of a connector that is there no more.
        ("old-dead", NOTED),
    ],
)
async def test_copies_of_messages_are_masked_as_these(topic: str, properties: dict[str, str]) -> None:
    answer = await Asked().answered(topics.PeekTopicRequest(topic=topic), peeked(**properties))
    assert answer.records[0].record.value == SAFE
    assert SECRET not in told(answer)


async def test_what_no_rule_covers_is_told_as_it_is() -> None:
    answer = await Asked().answered(topics.PeekTopicRequest(topic="orders-dead"), peeked())
    assert answer == peeked()
    other = letter("other", "orders/b/0:7")
    assert await Asked().answered(letters.GetDeadLetterRequest(connector="other", id="b:0:1"), other) == letter(
        "other", "orders/b/0:7"
    )
    assert not Asked("").masking.concerns(topics.PeekTopicRequest(topic="people"))


async def test_nobody_finds_a_key_out_by_looking_for_it() -> None:
    assert "keys of the topic 'people' are masked" in await Asked().refused(topics.PeekTopicRequest(topic="people", key=SECRET))
    assert "ask by place, time or id" in await Asked().refused(topics.TraceMessagesRequest(topic="people", key=SECRET))
    traced = topics.TraceMessagesResponse(messages=[topics.MessageTrace(message_id="m", keys=SECRET, tags=SECRET)])
    answer = await Asked().answered(topics.TraceMessagesRequest(topic="orders", message_id="m"), traced)
    assert (SECRET in told(answer), list(answer.masked)) == (False, ["key", "properties"])


@pytest.mark.parametrize(("connector", "origin"), [("out", ""), ("other", "people/b/0:7"), ("deleted", "")])
async def test_a_dead_letter_shows_nothing_of_what_is_masked(connector: str, origin: str) -> None:
    given = letter(connector, origin)
    answer = await Asked().answered(letters.GetDeadLetterRequest(connector=connector, id="b:0:1"), given)
    assert (answer.body.decode(), answer.original_body, answer.packed.rows[0].value) == (SAFE, b"***", SAFE)
    assert (answer.dead_letter.id, answer.notes["topic"], answer.properties["UNIQ_KEY"]) == ("b:0:1", "people", "u")
    assert SECRET not in told(answer)
    assert PACKED not in told(answer)
    listed = letters.ListDeadLettersResponse(dead_letters=[letter(connector, origin).dead_letter])
    listed = await Asked().answered(letters.ListDeadLettersRequest(connector=connector), listed)
    assert (SECRET in told(listed), list(listed.masked)) == (False, ["key", "message", "properties"])


async def test_a_letter_without_packed_rows_gets_none() -> None:
    given = letter()
    given.ClearField("packed")
    answer = await Asked().answered(letters.GetDeadLetterRequest(connector="out", id="b:0:1"), given)
    assert not answer.HasField("packed")


async def test_who_does_not_see_a_dead_letter_can_not_correct_it() -> None:
    request = letters.EditDeadLetterRequest(connector="out", id="b:0:1", body=b'{"id":1,"email":"***"}', unchecked=True)
    assert "What is not seen can't be corrected; replay it as it is" in await Asked().refused(request)
    free = Asked()
    free.letter = letter("other", "orders/b/0:7")
    request.connector = "other"
    assert not await free.masking.check(request)


async def test_a_replay_sends_letters_as_they_are_but_to_no_topic_that_would_show_them() -> None:
    assert await Asked().masking.check(letters.ReplayDeadLettersRequest(connector="out", all=True))
    assert "would not be in the topic 'open'" in await Asked().refused(letters.ReplayDeadLettersRequest(connector="out", to="open"))
    assert await Asked().masking.check(letters.ReplayDeadLettersRequest(connector="out", to="people"))
    outcomes = letters.ReplayDeadLettersResponse(outcomes=[letters.ReplayOutcome(id="b:0:1", reason=SECRET)])
    dry = await Asked().answered(letters.ReplayDeadLettersRequest(connector="out", dry_run=True), outcomes)
    back = letters.GetReplayResponse(returned_letters=[letters.ReturnedLetter(id="b:0:2", message=SECRET)])
    returned = await Asked().answered(letters.GetReplayRequest(connector="out", replay="r"), back)
    assert SECRET not in told(dry) + told(returned)


async def test_a_comparison_is_refused_as_it_tells_keys_of_rows() -> None:
    assert "a comparison tells the keys of rows" in await Asked().refused(config.VerifyConnectorRequest(name="in", sink="out"))
    assert not await Asked().masking.check(config.VerifyConnectorRequest(name="other"))


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ({}, SAFE),
        ({"transforms": "rename"}, "***"),
        ({"value-converter": "string"}, "***"),
        ({"query": "SELECT email AS mail FROM records"}, "***"),
    ],
)
async def test_a_preview_masks_fields_and_all_of_what_was_renamed_on_the_way(more: dict[str, str], value: str) -> None:
    shown = ShownRecord(value=RECORD, has_value=True, key=SECRET, has_key=True)
    steps = [PreviewStep(name="read", record=shown), PreviewStep(name="write", problem=f"bad {SECRET}")]
    answer = config.PreviewConnectorResponse(records=[PreviewedRecord(steps=steps)])
    answer = await Asked().answered(config.PreviewConnectorRequest(config={"topics": "people", **more}), answer)
    assert (answer.records[0].steps[0].record.value, SECRET in told(answer)) == (value, False)
    # The topic of a record says whose it is, too.
    shown.topic = "people"
    of_source = config.PreviewConnectorResponse(records=[PreviewedRecord(steps=[PreviewStep(name="read", record=shown)])])
    of_source = await Asked().answered(config.PreviewConnectorRequest(config={"file": "x", **more}), of_source)
    assert SECRET not in told(of_source)


MISFIT = connectors.Problem(key="columns", value="email:int32", reason=f"does not fit: {SECRET}", fix="Change it.")
ABSENT = connectors.Problem(key="filename", reason="is not given")


@pytest.mark.parametrize("topic", ["people", "orders"])
async def test_what_a_check_says_of_the_newest_records_is_masked(topic: str) -> None:
    of = {"topics": topic}
    answers = [
        (config.ValidateConnectorRequest(config=of), config.ValidateConnectorResponse(problems=[MISFIT, ABSENT])),
        (config.ValidateConnectorRequest(config=of), config.ValidateConnectorResponse(warnings=[MISFIT, ABSENT])),
        (config.PreviewConnectorRequest(config=of), config.PreviewConnectorResponse(problems=[ABSENT], warnings=[MISFIT])),
        (config.CreateConnectorRequest(config=of), config.CreateConnectorResponse(warnings=[MISFIT, ABSENT])),
        (config.UpdateConnectorRequest(config=of), config.UpdateConnectorResponse(warnings=[MISFIT, ABSENT])),
    ]
    for request, answer in answers:
        said = told(await Asked().answered(request, answer))
        assert (SECRET in said, "Change it." in said, "is not given" in said) == (topic == "orders", True, True)


class Plane(ConfigServiceServicer, ClusterServiceServicer, TopicServiceServicer):
    """The services, and an executor, as a gateway sees them."""

    address = ""

    async def ListConnectors(self, request: config.ListConnectorsRequest, context: Any) -> config.ListConnectorsResponse:
        return config.ListConnectorsResponse(connectors=THERE)

    async def ListWorkers(self, request: cluster.ListWorkersRequest, context: Any) -> cluster.ListWorkersResponse:
        return cluster.ListWorkersResponse(workers=[cluster.Worker(worker_id="w", address=self.address, alive=True)])

    async def PeekTopic(self, request: topics.PeekTopicRequest, context: Any) -> topics.PeekTopicResponse:
        return peeked()

    async def CreateConnector(self, request: config.CreateConnectorRequest, context: Any) -> config.CreateConnectorResponse:
        problem = FieldProblem("value.converter", "int", f"reads none: {SECRET}", "Set another one.")
        raise InvalidArgument("CONFIG_INVALID", f"1 problem: {problem}", [problem])


@pytest.fixture
async def backends() -> AsyncIterator[Backends]:
    plane = Plane()

    def add(server: Any) -> None:
        add_ConfigServiceServicer_to_server(plane, server)
        add_ClusterServiceServicer_to_server(plane, server)
        add_TopicServiceServicer_to_server(plane, server)

    async with AsyncExitStack() as stack:
        plane.address = address = await stack.enter_async_context(server_for_test(add))
        settings = ServiceSettings(config_address=address, state_address=address, cluster_address=address, position_address=address)
        made = Backends(settings, read_seconds=20, write_seconds=20, mask="people=email")
        stack.push_async_callback(made.close)
        yield made


async def test_the_gateway_masks_what_an_executor_answers(backends: Backends) -> None:
    method = topics.DESCRIPTOR.services_by_name["TopicService"].methods_by_name["PeekTopic"]
    people = await backends.ask(method, topics.PeekTopicRequest(topic="people"), topics.PeekTopicResponse)
    orders = await backends.ask(method, topics.PeekTopicRequest(topic="orders"), topics.PeekTopicResponse)
    assert (people.records[0].record.value, SECRET in told(people), SECRET in told(orders)) == (SAFE, False, True)


async def test_a_refusal_of_a_configuration_tells_no_value_of_a_record_in_any_of_its_parts(backends: Backends) -> None:
    method = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name["CreateConnector"]
    for topic, is_seen in (("people", False), ("orders", True)):
        with pytest.raises(InvalidArgument) as refused:
            await backends.unary(method, config.CreateConnectorRequest(name="c", config={"topics": topic}), reads=False)
        error = refused.value
        assert (error.reason, [each.field for each in error.problems]) == ("CONFIG_INVALID", ["value.converter"])
        # gRPC is answered with what the cause has.
        assert (SECRET in f"{error} {error.problems}", error.__cause__ is None) == (is_seen, not is_seen)
        assert "Set another one" in error.message
