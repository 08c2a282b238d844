"""What every converter must do.

class TestMyConverter(ConverterSuite):
    subject = ConverterCase(MyConverter, examples=[("text", STRING)])
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import pytest

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, struct

_LONGEST = 64
_COUNTS = (3, 40)
"""Of a few and of many: a converter may do with the ones what it does not with the others."""
_WHATEVER: Sequence[object] = (object(), "\ud800", "text", b"\xff\x00", {"a": {1, 2}}, float("nan"), 1 << 70, -1, True, [None], {})
_SCHEMAS = (None, STRING, BYTES, Schema(Type.INT64), struct([("a", STRING)]))


@dataclass(frozen=True, slots=True)
class ConverterCase:
    """A converter with values that it can write.

    Attributes:
        converter: Its class.
        examples: (value, schema) pairs, at least one.
        config: Its options.
        lossy: What comes back may be another value, or have another schema, than what was written: text for a number, say.
    """

    converter: type[Converter]
    examples: Sequence[tuple[object, Schema | None]]
    config: Mapping[str, str] = field(default_factory=dict)
    lossy: bool = False

    def make(self, *, is_key: bool = False) -> Converter:
        """One of its own."""
        return self.converter(parse(self.converter.options, self.config), is_key=is_key)


class ConverterSuite:
    """Inherit it, call the class Test..., and give it a `subject`, or a fixture named `case`.

    Class attributes:
        subject: The case.
        rounds: How many ways in which bytes are wrong are tried.
    """

    subject: ClassVar[ConverterCase]
    rounds: ClassVar[int] = 300

    @pytest.fixture
    def case(self) -> ConverterCase:
        """The case; override it where it needs other fixtures."""
        return self.subject

    def test_what_is_written_is_read(self, case: ConverterCase) -> None:
        """Also by another instance: that of a sink knows nothing of that of a source."""
        for value, schema in case.examples:
            data = case.make().encode(value, schema)
            assert type(data) is bytes
            found, its_schema = case.make().decode(data)
            if not case.lossy:
                assert found == value
                assert its_schema is None or its_schema == schema
            assert case.make().encode(found, its_schema) == data

    def test_what_is_written_is_what_is_shown_beforehand(self, case: ConverterCase) -> None:
        """In a preview, where what is written is known."""
        for value, schema in case.examples:
            data = case.make().encode(value, schema)
            assert case.make().encode_dry(value, schema) == data

    def test_keys_are_written_as_values_are(self, case: ConverterCase) -> None:
        """Where it can be the converter of keys."""
        if case.converter.for_keys:
            for value, schema in case.examples:
                assert case.make(is_key=True).decode(case.make(is_key=True).encode(value, schema))[0] is not None

    def test_many_are_written_and_read_as_each_alone(self, case: ConverterCase) -> None:
        """The same bytes, and the same values."""
        converter = case.make()
        for value, schema in case.examples:
            one = converter.encode(value, schema)
            for count in _COUNTS:
                assert list(converter.encode_many([value] * count, schema)) == [one] * count
                found, its_schema = converter.decode_many([one] * count)
                assert (list(found), its_schema) == ([converter.decode(one)[0]] * count, converter.decode(one)[1])
        assert list(converter.encode_many([], None)) == []

    def test_a_column_is_written_as_its_values_are(self, case: ConverterCase) -> None:
        """As an Arrow array, whole and in part."""
        pytest.importorskip("pyarrow")
        from rocketconnect_sdk.arrow import to_array

        converter = case.make()
        for value, schema in case.examples:
            if schema is not None:
                for count in _COUNTS:
                    column = Column(to_array([value] * (count + 1), schema))
                    assert list(column[1:]) == [value] * count, "an example that its own schema does not hold exactly"
                    assert list(converter.encode_many(column[1:], schema)) == [converter.encode(value, schema)] * count

    def test_one_that_is_bad_among_many_is_told(self, case: ConverterCase) -> None:
        """So that the runtime looks for it: one by one."""
        converter = case.make()
        value, schema = case.examples[0]
        good = converter.encode(value, schema)
        for bad in _damaged(good, self.rounds):
            try:
                converter.decode(bad)
            except RecordError:
                for count in _COUNTS:
                    with pytest.raises(RecordError):
                        converter.decode_many([good] * (count - 2) + [bad, good])

    def test_whatever_bytes_come_only_a_record_error_leaves(self, case: ConverterCase) -> None:
        """Bytes at random, and examples with bytes changed, cut off and put in."""
        converter = case.make()
        chance = random.Random(1)  # noqa: S311  # the same each time
        found = [chance.randbytes(chance.randrange(_LONGEST)) for _ in range(self.rounds)]
        found += [bad for value, schema in case.examples for bad in _damaged(converter.encode(value, schema), self.rounds)]
        reasons = [_refusal(partial(converter.decode, data)) for data in found]
        assert "" not in reasons, "an error that does not say what is wrong"

    def test_whatever_value_comes_only_a_record_error_leaves(self, case: ConverterCase) -> None:
        """Values of other types, with schemas that do not fit."""
        converter = case.make()
        schemas = {*_SCHEMAS, *(schema for _, schema in case.examples)}
        values = (*_WHATEVER, *(value for value, _ in case.examples))
        reasons = [_refusal(partial(converter.encode, value, schema)) for value in values for schema in schemas]
        assert "" not in reasons, "an error that does not say what is wrong"

    def test_it_is_described(self, case: ConverterCase) -> None:
        """For `rocketconnect plugins show`."""
        assert case.converter.name
        assert (case.converter.__doc__ or "").strip().partition("\n")[0].endswith(".")
        assert all(option.doc.endswith(".") for option in case.converter.options)


def _refusal(convert: Callable[[], object]) -> str | None:
    """Why it is refused; None: it is not."""
    try:
        convert()
    except RecordError as error:
        return str(error)
    return None


def _damaged(data: bytes, rounds: int) -> list[bytes]:
    """Some of the ways in which bytes can be wrong."""
    chance = random.Random(len(data))  # noqa: S311  # the same each time
    found = [data[:length] for length in range(min(len(data), _LONGEST))] + [data + b"\x00", data * 2]
    for _ in range(rounds):
        changed = bytearray(data or b"\x00")
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        found.append(bytes(changed))
    return found
