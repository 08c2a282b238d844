"""Whatever a message of Protobuf has is in what is read of it, or it is a bad record: alone as among others."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.protobuf.converter import ProtobufFile
from rocketconnect_sdk.converters.protobuf.files import compiled
from rocketconnect_sdk.converters.protobuf.layout import varint
from rocketconnect_sdk.errors import RecordError
from tests.registry.server import TestRegistry
from tests.registry.store import Held
from tests.rocketconnect_sdk.converters.protobuf_forms import PROTO3, made
from tests.rocketconnect_sdk.typed_values import shown

FLAT = """message A {
  optional int32 i = 1; optional uint32 u = 2; optional sint32 s = 3; optional int64 l = 4; optional bool b = 5; optional E e = 6;
  optional fixed32 f = 7; optional sfixed64 g = 8; optional string t = 9; optional B in = 10;
} message B { optional int32 x = 1; optional C c = 2; } message C { optional E y = 1; optional uint64 z = 2; } """
ENUM = "enum E { NONE = 0; ONE = 1; MINUS = -1; } "
MANY = """message A {
  repeated int32 i = 1; repeated uint32 u = 2 [packed = false]; repeated E e = 3 [packed = true]; repeated string t = 4;
  map<string, B> m = 5; map<sint32, E> n = 6; optional B in = 7;
  oneof o { int32 p = 8; B q = 9; } repeated B bs = 10; repeated fixed32 f = 11;
} message B { optional int32 x = 1; repeated E es = 2; } """


@cache
def of(text: str, syntax: str) -> ProtobufFile:
    return ProtobufFile(compiled(f'syntax = "{syntax}"; {text}', {}))


def read_in_all_forms(its: ProtobufFile, good: bytes, message: bytes) -> object:
    """What a message is read as, alone, among few and among so many that they are columns. Raises RecordError: so do all."""
    form, _ = its.at(b"\x00", 0)
    try:
        alone = its.decode(b"\x00" + message, 0)
    except RecordError:
        for count in (1, 20):
            with pytest.raises(RecordError):
                form.decode_many([*[b"\x00" + good] * count, b"\x00" + message], 1)
        raise
    for count in (1, 20):
        many = form.decode_many([*[b"\x00" + good] * count, b"\x00" + message], 1)
        assert shown([many[count]]) == shown([alone])
    return alone


@pytest.mark.parametrize(
    ("syntax", "data", "said"),
    [
        (
            "proto3",
            "0801 6001",
            "A contains the unknown field 12, which its schema has not: write it with the id of a schema that has it",
        ),
        ("proto3", "0801 6364", "A contains the unknown field 12"),  # a group
        ("proto3", "5202 1801", "B contains the unknown field 3"),
        ("proto3", "5204 1202 1801", "C contains the unknown field 3"),
        ("proto3", "0d01000000", r"A\.i comes as four bytes, and its type int32 is written as a varint"),
        ("proto3", "0a0101", r"A\.i comes as bytes behind their length"),
        ("proto3", "3801", r"A\.f comes as a varint, and its type fixed32 is written as four bytes"),
        ("proto3", "4801", r"A\.t comes as a varint, and its type string is written as bytes behind their length"),
        ("proto3", "5001", r"A\.in comes as a varint, and its type message is written as bytes"),
        ("proto3", "0880808080 10", r"A\.i: 4294967296 is no number of its type int32"),
        ("proto3", "08ffffffff 0f", r"A\.i: 4294967295 is no number of its type int32"),
        ("proto3", "08ffffffff f7ffffffff 01", r"A\.i: -2147483649 is no number of its type int32"),
        # As many bytes as are written of what is left of it.
        ("proto3", "08ffffffff 8f80808080 01", r"A\.i: -9223372032559808513 is no number of its type int32"),
        ("proto3", "1080808080 10", r"A\.u: 4294967296 is no number of its type uint32"),
        ("proto3", "1880808080 10", r"A\.s: 2147483648 is no number of its type sint32"),
        ("proto3", "3081808080 10", r"A\.e: 4294967297 is no number of its type E"),
        ("proto3", "5206 0880808080 10", r"B\.x: 4294967296 is no number of its type int32"),
        ("proto3", "3005", "the enum has no symbol for 5"),
        ("proto2", "3005", r"A\.e: 5 is no number of its type E"),
        ("proto2", "5204 1202 0805", r"C\.y: 5 is no number of its type E"),
    ],
)
def test_what_a_message_has_that_would_not_be_in_its_value_is_a_bad_record(syntax: str, data: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_in_all_forms(of(FLAT + ENUM, syntax), b"\x08\x01", bytes.fromhex(data))


@pytest.mark.parametrize(
    ("syntax", "data", "said"),
    [
        ("proto3", "0a06 8080808010 01", r"A\.i: 4294967296 is no number"),
        ("proto3", "0801 0880808080 10", r"A\.i: 4294967296 is no number"),
        ("proto3", "2a08 0a0161 1203 1a0178", r"B contains the unknown field 3"),
        ("proto3", "2a05 0a0161 1801", "MEntry contains the unknown field 3"),
        ("proto3", "3208 0880808080 10 1001", r"NEntry\.key: 2147483648 is no number"),
        ("proto2", "1a02 0105", r"A\.e: 5 is no number"),
        ("proto2", "3204 0802 1005", r"NEntry\.value: 5 is no number"),
        ("proto2", "5202 1005", r"B\.es: 5 is no number"),
        ("proto3", "5202 1001 5802", r"A\.f comes as a varint"),
    ],
)
def test_nothing_of_an_array_or_a_map_is_lost_in_silence(syntax: str, data: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_in_all_forms(of(MANY + ENUM, syntax), b"", bytes.fromhex(data))


def test_an_extension_has_no_type_here_and_one_that_is_given_is_a_bad_record() -> None:
    its = of(
        "message A { optional int32 a = 1; optional B in = 2; } message B { extensions 100; } extend B { optional int32 x = 100; }",
        "proto2",
    )
    assert read_in_all_forms(its, b"", bytes.fromhex("0801 1200")) == {"a": 1, "in": {}}
    with pytest.raises(RecordError, match=r"B contains the unknown field 100.* Extensions have no type here"):
        read_in_all_forms(its, b"", bytes.fromhex("0801 1203 a00601"))


def test_a_field_of_a_newer_writer_is_read_with_its_schema_and_refused_with_an_older_one(registry: TestRegistry) -> None:
    for text in ("message A { int32 x = 1; }", "message A { int32 x = 1; string y = 2; }"):
        registry.store.register("t-value", Held("PROTOBUF", PROTO3 + text))
    body = b"\x00\x08\x01\x12\x01y"
    assert made(registry).decode(b"\x00\x00\x00\x00\x02" + body)[0] == {"x": 1, "y": "y"}
    with pytest.raises(RecordError, match="unknown field 2"):
        made(registry).decode(b"\x00\x00\x00\x00\x01" + body)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("0801 0803 08808000", {"i": [1, 3, 0]}),  # not packed, and longer than need be
        ("1202 0304", {"u": [3, 4]}),  # packed
        ("0a0101 0802 0a0103", {"i": [1, 2, 3]}),  # both
        ("5d01000000 5a0402000000", {"f": [1, 2]}),
        ("2a00", {"m": {"": {"x": None, "es": []}}}),
        ("2a05 1200 0a0161 2a03 0a0162", {"m": {"a": {"x": None, "es": []}, "b": {"x": None, "es": []}}}),
        ("3204 0802 1000 3204 0802 1001", {"n": {1: "ONE"}}),  # a key that comes again
        ("3a02 0801 3a02 1001 3a02 0802", {"in": {"x": 2, "es": ["ONE"]}}),  # merged
        ("4001 4a02 0805", {"p": None, "q": {"x": 5, "es": []}}),  # of a oneof the last one
    ],
)
def test_whatever_form_protobuf_allows_is_read(data: str, value: Mapping[str, object]) -> None:
    its = of(MANY + ENUM, "proto3")
    nothing: Any = its.decode(b"\x00", 0)
    assert read_in_all_forms(its, b"", bytes.fromhex(data)) == {**nothing, **value}


class Bad(Exception):
    """The model finds something in a message that no value holds."""


Item = tuple[int, int, Any]
"""The number of a field, its wire type, and bits, bytes, or the items of a message."""

_BIG = [
    0,
    1,
    2,
    5,
    127,
    128,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    1 << 63,
    (1 << 64) - (1 << 31),
    (1 << 64) - 1,
]
BITS = st.sampled_from(_BIG) | st.integers(0, (1 << 64) - 1)
KINDS: Mapping[str, Mapping[int, tuple[str, str]]] = {
    "A": {
        1: ("i", "int32"),
        2: ("u", "uint32"),
        3: ("s", "sint32"),
        4: ("l", "int64"),
        5: ("b", "bool"),
        6: ("e", "E"),
        7: ("f", "fixed32"),
        8: ("g", "sfixed64"),
        9: ("t", "string"),
        10: ("in", "B"),
    },
    "B": {1: ("x", "int32"), 2: ("c", "C")},
    "C": {1: ("y", "E"), 2: ("z", "uint64")},
}
"""FLAT, once more, for the model."""
WIRE = {"fixed32": 5, "sfixed64": 1, "string": 2, "B": 2, "C": 2}
_INT32 = range(-(1 << 31), 1 << 31)
RANGES = {
    **dict.fromkeys(("int32", "sint32", "E"), _INT32),
    "uint32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63),
    "uint64": range(1 << 64),
}
SYMBOLS = {0: "NONE", 1: "ONE", -1: "MINUS"}


def items_of(message: str) -> st.SearchStrategy[list[Item]]:
    """Items of a message: most of them fit it."""
    usual = st.one_of([_item(number, kind) for number, (_, kind) in KINDS[message].items()])
    odd = st.one_of(
        st.tuples(st.integers(1, 12), st.just(0), BITS),
        st.tuples(st.integers(1, 12), st.just(5), st.binary(min_size=4, max_size=4)),
    )
    return st.lists(st.integers(0, 9).flatmap(lambda dice: odd if dice == 9 else usual), max_size=5)


def _item(number: int, kind: str) -> st.SearchStrategy[Item]:
    wire = WIRE.get(kind, 0)
    if kind in KINDS:
        value: st.SearchStrategy[Any] = items_of(kind)
    elif wire == 0:
        value = BITS if kind != "E" else st.sampled_from([0, 1, (1 << 64) - 1, 5, (1 << 32) + 1])
    else:
        value = (
            st.sampled_from([b"", b"a"])
            if wire == 2
            else st.binary(min_size=8, max_size=8).map(lambda data: data[: 4 if wire == 5 else 8])
        )
    return st.tuples(st.just(number), st.just(wire), value)


def written(items: Sequence[Item], *, longer: bool) -> bytes:
    out = b""
    for number, wire, value in items:
        out += varint(number << 3 | wire)
        if wire == 0:
            plain = varint(value)
            out += plain[:-1] + bytes([plain[-1] | 128, 0]) if longer and len(plain) < 9 else plain
        elif wire == 2:
            body = written(value, longer=longer) if isinstance(value, list) else value
            out += varint(len(body)) + body
        else:
            out += value
    return out


def wanted(items: Sequence[Item], message: str, *, closed: bool) -> dict[str, object]:
    """The value of items; closed: of enums. Raises Bad: there is none that has all of them."""
    parts: dict[int, Any] = {}
    for number, wire, value in items:
        if number not in KINDS[message] or wire != WIRE.get(KINDS[message][number][1], 0):
            raise Bad
        kind = KINDS[message][number][1]
        parts[number] = parts.get(number, []) + value if kind in KINDS else _single(value, kind)
        if kind == "E" and closed:
            _symbol(parts[number])
    found: dict[str, object] = {}
    for number, (name, kind) in KINDS[message].items():
        found[name] = parts.get(number)
        if number in parts and kind in KINDS:
            found[name] = wanted(parts[number], kind, closed=closed)
        elif number in parts and kind == "E":
            found[name] = _symbol(parts[number])
    return found


def _symbol(number: int) -> str:
    if number not in SYMBOLS:
        raise Bad
    return SYMBOLS[number]


def _single(value: Any, kind: str) -> Any:
    if kind == "string":
        return value.decode()
    if isinstance(value, bytes):
        return int.from_bytes(value, "little", signed=kind == "sfixed64")
    if kind == "bool":
        return bool(value)
    if kind == "sint32":
        value = value // 2 if value % 2 == 0 else -(value + 1) // 2
    elif not kind.startswith("u") and value >= 1 << 63:
        value -= 1 << 64
    if value not in RANGES[kind]:
        raise Bad
    return value


GOOD = written([(1, 0, 1), (9, 2, b"x"), (10, 2, [(1, 0, 1), (2, 2, [(2, 0, 1)])])], longer=False)


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
@given(items_of("A"), st.booleans())
def test_whatever_fields_come_their_value_is_read_or_the_record_is_bad(syntax: str, items: list[Item], longer: bool) -> None:
    its, message = of(FLAT + ENUM, syntax), written(items, longer=longer)
    try:
        value = wanted(items, "A", closed=syntax == "proto2")
    except Bad:
        with pytest.raises(RecordError):
            read_in_all_forms(its, GOOD, message)
        return
    assert read_in_all_forms(its, GOOD, message) == value


def mutated(data: st.DataObject, good: bytes) -> bytes:
    """Bytes some of which are others, gone, new, or there twice."""
    out = good
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(out)))
        end = data.draw(st.integers(begin, min(len(out), begin + 6)))
        between = data.draw(
            st.one_of(st.binary(max_size=4), st.just(out[begin:end] * 2), st.sampled_from([b"\x80", b"\xff" * 9 + b"\x01"]))
        )
        out = out[:begin] + between + out[end:]
    return out


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
@pytest.mark.parametrize("text", [FLAT, MANY])
@given(st.data())
def test_of_bytes_that_are_damaged_all_forms_read_the_same_or_refuse_them(text: str, syntax: str, data: st.DataObject) -> None:
    its = of(text + ENUM, syntax)
    message = mutated(data, GOOD if text is FLAT else MANY_GOOD)
    try:
        value = read_in_all_forms(its, GOOD if text is FLAT else b"", message)
    except RecordError:
        return
    # All that is in it is written again of it.
    assert its.decode(its.encode(value), 0) == value


MANY_GOOD = bytes.fromhex(
    "0a0201021003 1004 1a020001 220161 2a090a0161120408011001 3204 0802 1001 3a020801 4001 520408051001 5a0401000000"
)


def test_the_good_messages_of_the_tests_are_good() -> None:
    form, _ = of(FLAT + ENUM, "proto3").at(b"\x00", 0)
    assert isinstance(form.decode_many([b"\x00" + GOOD] * 20, 1), Column)
    assert of(MANY + ENUM, "proto3").decode(b"\x00" + MANY_GOOD, 0)
