"""Answers that show records, without what is masked. Pure; each function changes the answer that it is given."""

from collections.abc import Mapping, MutableMapping
from typing import Any

from google.protobuf.message import Message
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.record.v1.record_pb2 import ShownRecord
from rocketconnect.topic.v1 import topic_service_pb2 as topics

from rocketconnect_sdk.letters.dead_letters import PREFIX
from services.gateway.masking.rules import Fields, Rules
from services.gateway.masking.values import HEADERS, KEY, MASK, MESSAGE, PROPERTIES, VALUE, masked, masked_bytes

READ_AS_THEY_ARE = frozenset(
    {
        "",
        "json",
        "org.apache.kafka.connect.json.JsonConverter",
        "org.apache.rocketmq.connect.runtime.converter.record.json.JsonConverter",
    }
)
"""Converters whose names of fields are those of the messages. Others are told, or have, names of their own."""
_RENAMING = ("transforms", "query")
"""Ends of the names of options that make fields of other names."""
_KEYS = ("KEYS", "connect-key-base64")
_HARMLESS = frozenset(
    {"UNIQ_KEY", "MSG_REGION", "TRACE_ON", "WAIT", "CLUSTER", "INNER_NUM", "INNER_BASE", "RCPOS", "connect-replay-count"}
)
"""Properties that hold nothing of a record."""
_PLACES = ("topic", "broker", "queue", "offset", "source.partition", "source.offset")
"""Notes that say where a record was."""
_COPIES = ("RETRY_TOPIC", "REAL_TOPIC", "DLQ_ORIGIN_TOPIC")
"""Properties that name the topic that a message was in first."""


def reads_fields(read: Mapping[str, str]) -> bool:
    """Whether the fields of what is shown have the names of those in the messages, as a configuration reads them."""
    for key, value in read.items():
        # Translated configurations have other keys: value-converter.
        folded = key.casefold()
        if folded.endswith("converter") and not folded.startswith("key") and value.strip() not in READ_AS_THEY_ARE:
            return False
        if folded.endswith(_RENAMING) and value.strip():
            return False
    return True


def peeked(answer: topics.PeekTopicResponse, fields: Fields, rules: Rules, *, by_fields: bool) -> None:
    """Mask the messages of a topic."""
    hidden: set[str] = set()
    for each in answer.records:
        its = fields | _of_properties(each.properties, rules)
        if not its:
            continue
        shown(each.record, its, hidden, by_fields=by_fields)
        each.body = _value(each.body, its, hidden, by_fields=by_fields)
        each.problem = _text(each.problem, hidden)
        _properties(each.properties, hidden)
    if fields:
        answer.trouble = _text(answer.trouble, hidden)
    answer.masked.extend(sorted(hidden))


def previewed(answer: config.PreviewConnectorResponse, fields: Fields, rules: Rules, *, by_fields: bool) -> None:
    """Mask the records of a preview."""
    hidden: set[str] = set()
    for record in answer.records:
        its = fields
        for step in record.steps:
            its |= rules.of_topic(step.record.topic)
        for step in record.steps:
            if its:
                shown(step.record, its, hidden, by_fields=by_fields)
                step.problem = _text(step.problem, hidden)
    if fields:
        answer.trouble = _text(answer.trouble, hidden)
    answer.masked.extend(sorted(hidden))


def listed(answer: letters.ListDeadLettersResponse, fields: Fields, rules: Rules) -> None:
    """Mask what a list tells of dead letters."""
    hidden: set[str] = set()
    for each in answer.dead_letters:
        if fields | _of_letter(each, rules):
            _letter(each, hidden)
    answer.masked.extend(sorted(hidden))


def letter(answer: letters.GetDeadLetterResponse, fields: Fields, rules: Rules) -> None:
    """Mask one dead letter."""
    its = fields | _of_letter(answer.dead_letter, rules) | _of_properties(answer.properties, rules)
    if not its:
        return
    hidden: set[str] = set()
    _letter(answer.dead_letter, hidden)
    answer.body = masked_bytes(answer.body, its, hidden)
    answer.original_body = masked_bytes(answer.original_body, its, hidden)
    _properties(answer.properties, hidden)
    answer.trace = _text(answer.trace, hidden)
    for name in list(answer.notes):
        if name not in _PLACES:
            answer.notes[name] = _text(answer.notes[name], hidden)
    if answer.packed.problem:
        answer.packed.problem = _text(answer.packed.problem, hidden)
    for row in answer.packed.rows:
        row.value = _value(row.value, its, hidden, by_fields=True)
        row.problem = _text(row.problem, hidden)
        if row.HasField("key"):
            row.key = _text(row.key, hidden, KEY)
        _all(row.headers, hidden, HEADERS)
    answer.masked.extend(sorted(hidden))


def replayed(answer: letters.ReplayDeadLettersResponse) -> None:
    """Mask why letters would fail."""
    hidden: set[str] = set()
    for each in answer.outcomes:
        each.reason = _text(each.reason, hidden)
    answer.masked.extend(sorted(hidden))


def returned(answer: letters.GetReplayResponse) -> None:
    """Mask why letters failed again."""
    hidden: set[str] = set()
    for each in answer.returned_letters:
        each.message = _text(each.message, hidden)
    answer.masked.extend(sorted(hidden))


def traced(answer: topics.TraceMessagesResponse) -> None:
    """Mask the keys of messages: a trace topic has those of all topics."""
    hidden: set[str] = set()
    for each in answer.messages:
        each.keys, each.tags = _text(each.keys, hidden, KEY), _text(each.tags, hidden, PROPERTIES)
    answer.masked.extend(sorted(hidden))


def shown(record: ShownRecord, fields: Fields, hidden: set[str], *, by_fields: bool) -> None:
    """Mask a record; `hidden` gets what was."""
    if record.has_value:
        record.value = _value(record.value, fields, hidden, by_fields=by_fields)
    if record.has_key:
        record.key = _text(record.key, hidden, KEY)
    _all(record.headers, hidden, HEADERS)


def _letter(each: letters.DeadLetter, hidden: set[str]) -> None:
    each.message = _text(each.message, hidden)
    each.key, each.tags = _text(each.key, hidden, KEY), _text(each.tags, hidden, PROPERTIES)


def _value(text: str, fields: Fields, hidden: set[str], *, by_fields: bool) -> str:
    if by_fields or not text:
        return masked(text, fields, hidden) if text else text
    hidden.add(VALUE)
    return MASK


def _text(text: str, hidden: set[str], name: str = MESSAGE) -> str:
    if not text:
        return text
    hidden.add(name)
    return MASK


def _properties(properties: MutableMapping[str, str], hidden: set[str]) -> None:
    for name in list(properties):
        if name not in _HARMLESS:
            hidden.add(KEY if name in _KEYS else PROPERTIES)
            properties[name] = MASK


def _all(values: MutableMapping[str, str], hidden: set[str], name: str) -> None:
    for each in list(values):
        hidden.add(name)
        values[each] = MASK


def _of_properties(properties: Mapping[str, str], rules: Rules) -> Fields:
    """What is masked of a copy: a dead letter, or what was sent again."""
    if any(name.startswith(PREFIX) for name in properties):
        return rules.all()
    found = Fields()
    for name in _COPIES:
        found |= rules.of_topic(properties.get(name, ""))
    return found


def _of_letter(each: letters.DeadLetter, rules: Rules) -> Fields:
    return rules.of_topic(each.topic) | rules.of_topic(each.origin.partition("/")[0])


def is_shown(request: Message) -> bool:
    """Whether the answer to a request may show records."""
    return isinstance(request, _SHOW)


_SHOW: tuple[type[Any], ...] = (
    topics.PeekTopicRequest,
    topics.TraceMessagesRequest,
    letters.ListDeadLettersRequest,
    letters.GetDeadLetterRequest,
    letters.EditDeadLetterRequest,
    letters.ReplayDeadLettersRequest,
    letters.GetReplayRequest,
    config.CreateConnectorRequest,
    config.UpdateConnectorRequest,
    config.ValidateConnectorRequest,
    config.PreviewConnectorRequest,
    config.VerifyConnectorRequest,
)
