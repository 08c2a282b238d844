"""Transforms and predicates by Kafka Connect's class names do what Kafka's own do, but for what docs/transforms.md names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.schema import Field, Schema
from tests.examples import some
from tests.rocketconnect_sdk.transforms.kafka.generated import NAMES, Given, givens
from tests.rocketconnect_sdk.transforms.kafka.outcomes import Made, Outcome, kafkas, ours, question
from tests.rocketconnect_sdk.transforms.kafka.peer import Kafka

pytestmark = [pytest.mark.slow, pytest.mark.kafka]

_PAGE = Path(__file__).parents[4] / "docs" / "transforms.md"


@dataclass(frozen=True)
class Difference:
    """One on purpose.

    Attributes:
        title: What docs/transforms.md calls it.
        kinds: Of which transforms.
        refused: Why the record, or the configuration, is refused here.
        same: Makes what came out the same where this is all that differs.
        holds: For which records.
    """

    title: str
    kinds: str
    refused: str = ""
    same: Callable[[Made], object] | None = None
    holds: Callable[[Given], bool] = lambda _: True

    def explains(self, given: Given, here: Outcome, there: Outcome) -> bool:
        """Whether the one came of it where the other did."""
        if not re.search(rf"\.({self.kinds})(\$|$)", given.kind) or not self.holds(given):
            return False
        if here.error:
            return bool(self.refused and re.search(self.refused, here.error))
        if self.same is None or here.made is None or there.made is None:
            return False
        return repr(self.same(here.made)) == repr(self.same(there.made))


def _changed(given: Given) -> tuple[Any, Schema | None]:
    return given.key if given.kind.endswith("$Key") else given.value


def _is_nothing(given: Given) -> bool:
    return _changed(given)[0] is None


def _nothing(made: Made) -> object:
    """All but what was nothing: it is said by the record that was given which part that is."""
    return {name: part for name, part in made.items() if name not in ("key", "value")}


def _without_nulls(made: Made) -> object:
    return {name: _told(part) if name in ("key", "value") else part for name, part in made.items()}


def _told(part: tuple[Any, Schema | None]) -> tuple[Any, Schema | None]:
    value, schema = part
    told = schema is None and isinstance(value, dict)
    return ({name: each for name, each in value.items() if each is not None} if told else value), schema


def _required(made: Made) -> object:
    return {name: (part[0], _required_schema(part[1])) if name in ("key", "value") else part for name, part in made.items()}


def _required_schema(schema: Schema | None) -> Schema | None:
    if schema is None:
        return None
    fields = tuple(Field(each.name, _required_schema(each.schema) or each.schema) for each in schema.fields)
    return replace(schema, optional=False, fields=fields)


def _undocumented(made: Made) -> object:
    return re.sub(r"doc='\w*'", "", repr(made))


def _without_texts(made: Made) -> object:
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: shape(each) for name, each in value.items()}
        return [shape(each) for each in value] if isinstance(value, list) else "…" if isinstance(value, str) else value

    return {name: shape(_told(part)[0]) if name in ("key", "value") else part for name, part in made.items()}


def _without_headers(made: Made) -> object:
    return {name: part for name, part in made.items() if name != "headers"}


def _renames_to_another(given: Given) -> bool:
    renames = dict(each.split(":") for each in given.config.get("renames", "").split(",") if each)
    value = _changed(given)[0]
    return isinstance(value, Mapping) and bool({*renames.values()} & {*value})


def _leads_within(given: Given) -> bool:
    value = _changed(given)[0]
    names = re.split("[,:]", ",".join(given.config.values()))
    return isinstance(value, Mapping) and any("." in name and name not in value for name in names)


FIELDS = "Cast|MaskField|ReplaceField|TimestampConverter|HeaderFrom|ValueToKey|ExtractField|InsertField|Flatten"
DIFFERENCES = [
    Difference("What is not there", "ExtractField|HeaderFrom|ValueToKey", refused="there is no field"),
    Difference("What is not there", "Cast|MaskField|TimestampConverter|InsertField", same=_without_nulls),
    Difference("What is not there", "InsertField", refused="the record has no time"),
    Difference("Tombstones", "HoistField", same=_nothing, holds=_is_nothing),
    Difference(
        "What cannot be right", ".*", refused="would do nothing|goes with static|refers to the group|is required and is empty"
    ),
    Difference("What cannot be right", FIELDS, refused="would give several fields the name"),
    Difference("Values that do not fit", "Cast", refused="can't be cast|names the type"),
    Difference("Values that do not fit", "MaskField", refused="can't be masked"),
    Difference("Values that do not fit", "TimestampConverter", refused="can't become"),
    Difference("Values as text", "Cast", same=_without_texts),
    Difference("Headers", "HeaderFrom|InsertHeader", same=_without_headers),
    Difference("Optional structs", "Flatten|InsertField|ReplaceField", same=_required),
    Difference("Documentation", "TimestampConverter", same=_undocumented),
    Difference("Renamed fields", "ReplaceField", same=_nothing, holds=_renames_to_another),
    Difference("Fields within fields", "Cast|MaskField|ReplaceField", same=_nothing, holds=_leads_within),
    Difference("Fields within fields", "Cast|MaskField|ReplaceField", refused="can't be named as a field|no struct"),
]


def test_each_difference_is_named_on_the_page() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    assert [each.title for each in DIFFERENCES if f"- **{each.title}.**" not in page] == []


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=some(100))
@given(data=st.data())
def test_what_becomes_of_a_record_is_what_becomes_of_it_in_kafka_connect(kafka: Kafka, name: str, data: st.DataObject) -> None:
    """What Kafka Connect refuses nobody has who comes from there."""
    given_ = data.draw(givens(name))
    asked = question(given_)
    here, there = ours(asked), kafkas(kafka, asked)
    if not there.error and repr(here) != repr(there):
        assert [each.title for each in DIFFERENCES if each.explains(given_, here, there)] != [], f"{here}\nKafka: {there}"
