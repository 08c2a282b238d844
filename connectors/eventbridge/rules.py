"""Rules: which records go where, and what of them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from connectors.eventbridge.inputs import Input
from connectors.eventbridge.patterns import Pattern
from connectors.http.requests import BODY, HEADER, IDENTITY
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes import Op, Operation, Template, as_text
from rocketconnect_sdk.writes.templates import Told, named

RULE, TARGET, REFUSED = "rule", "target", "refused"
"""Among the texts of an operation: the names of its rule and its target, and why it can't be sent."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A target, as far as records make its requests.

    Attributes:
        name: Of the target.
        path: Behind its server.
        headers: Those that are made of records.
        is_identified: A header says which record it is.
    """

    name: str
    path: Template
    headers: Mapping[str, Template] = field(default_factory=dict)
    is_identified: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        name: Of it.
        pattern: Which events it is for.
        input: What of them is sent.
        destinations: Where that goes.
    """

    name: str
    pattern: Pattern
    input: Input
    destinations: Sequence[Destination]


@dataclass(frozen=True, slots=True)
class Rules:
    """Makes the operations of a record: one for each target of each rule that matches, and one without a target where none does."""

    rules: Sequence[Rule]

    def __call__(self, told: Told, index: int) -> Iterator[Operation]:
        """See Addressing.made."""
        event = _event(told)
        matching = [rule for rule in self.rules if event is not None and rule.pattern.matches(event)]
        if event is None or not matching:
            yield Operation(Op.APPEND, "", "", None, record=index)
            return
        key = "" if told.key is None else as_text(told.key)
        for rule in matching:
            try:
                body = rule.input.text(event, told)
            except RecordError as error:
                yield from (_refused(rule, each, str(error), index) for each in rule.destinations)
                continue
            for each in rule.destinations:
                yield _made(rule, each, body, told, key, index)


def _event(told: Told) -> Mapping[str, Any] | None:
    """The value of a record as an object; None: it has none. Raises RecordError: it is something else."""
    found = named(told.value)
    if found is None or isinstance(found, Mapping):
        return found
    msg = "the value is no event: it is neither a row nor a JSON object"
    raise RecordError(msg)


def _made(rule: Rule, destination: Destination, body: str, told: Told, key: str, index: int) -> Operation:
    more = {RULE: rule.name, TARGET: destination.name, BODY: body}
    try:
        path = destination.path.text(told)
        more |= {f"{HEADER}{name}": template.text(told) for name, template in destination.headers.items()}
    except RecordError as error:
        return _refused(rule, destination, str(error), index)
    if destination.is_identified:
        # Of one record each rule may send something else to the same target.
        more[IDENTITY] = str(uuid5(NAMESPACE_OID, f"{told.queue}/{told.offset}/{told.time_ms}/{rule.name}"))
    return Operation(Op.APPEND, path, key, None, more=more, record=index)


def _refused(rule: Rule, destination: Destination, why: str, index: int) -> Operation:
    return Operation(Op.APPEND, "", "", None, more={RULE: rule.name, TARGET: destination.name, REFUSED: why}, record=index)
