"""Protobuf that others have written: schemas and messages, and what of them is refused."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.converters.protobuf import files as protobuf_files
from rocketconnect_sdk.converters.protobuf.converter import ProtobufFile
from rocketconnect_sdk.converters.protobuf.files import compiled
from rocketconnect_sdk.converters.protobuf.form import head
from rocketconnect_sdk.converters.protobuf.text import to_proto
from rocketconnect_sdk.errors import RecordError, SystemAway
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct, timestamp
from tests.examples import some
from tests.registry.server import TestRegistry
from tests.registry.store import Held
from tests.rocketconnect_sdk.converters.protobuf_forms import INT, PROTO3, ROW, made, read


@pytest.mark.parametrize(
    ("text", "data", "said"),
    [
        ('import "google/type/date.proto"; message A { google.type.Date x = 1; }', "0a0408e80f10", "Error parsing"),
        ('import "google/type/date.proto"; message A { google.type.Date x = 1; }', "0a021001", "does not fit its schema"),
        ('import "google/type/timeofday.proto"; message A { google.type.TimeOfDay x = 1; }', "0a020818", "no time of the day"),
        ('import "google/protobuf/timestamp.proto"; message A { google.protobuf.Timestamp x = 1; }', "0a021001", "1 nanoseconds"),
        (
            'import "google/protobuf/timestamp.proto"; message A { google.protobuf.Timestamp x = 1; }',
            "0a0b10ffffffffffffffffff01",
            "-1 nanoseconds within its second",
        ),
        ('import "confluent/type/decimal.proto"; message A { confluent.type.Decimal x = 1; }', "0a00", "a decimal of 0 bytes"),
        (
            'import "confluent/type/decimal.proto"; message A { confluent.type.Decimal x = 1; }',
            "0a090a01011881808080f8ffffffff01",
            "more than 38 digits|Error parsing",
        ),
        ("message A { E x = 1; } enum E { Z = 0; }", "0805", "the enum has no symbol for 5"),
        ("message A { repeated BEntry x = 1; message BEntry { string key = 1; int32 value = 2; } }", "0a000a00", "a key twice"),
    ],
)
def test_what_stands_for_no_value_is_a_bad_record(text: str, data: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read(text).decode(b"\x00" + bytes.fromhex(data), 0)


def test_a_decimal_whose_point_is_far_away_takes_no_memory() -> None:
    form = read('import "confluent/type/decimal.proto"; message A { confluent.type.Decimal x = 1; }')
    for scale in (b"\x80\x80\x80\x80\xf8\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x07"):
        with pytest.raises(RecordError, match="digits"):
            body = b"\x0a\x01\x01\x18" + scale
            form.decode(b"\x00\x0a" + bytes([len(body)]) + body, 0)


def test_what_others_write_is_read() -> None:
    form = read(
        """
        package shop;
        import "google/protobuf/wrappers.proto";
        import "google/protobuf/timestamp.proto";
        import "google/type/money.proto";
        message Order {
          sint32 a = 1;
          fixed64 b = 2;
          optional bool c = 3;
          google.protobuf.StringValue d = 4;
          google.protobuf.Timestamp at = 5;
          oneof which { int32 e = 6; Part f = 7; }
          Kind kind = 8;
          repeated Part parts = 9;
          map<int64, Part> by = 10;
          google.type.Money money = 11;
          message Part { string x = 1; }
        }
        enum Kind { option allow_alias = true; NONE = 0; SOME = 1; ANY = 1; }
        """
    )
    part = struct([("x", STRING)], name="shop.Order.Part")
    enum = "io.confluent.connect.protobuf.Enum"
    money = [("currency_code", STRING), ("units", Schema(Type.INT64)), ("nanos", INT)]
    symbols = ((enum, "shop.Kind"), (f"{enum}.NONE", "0"), (f"{enum}.SOME", "1"), (f"{enum}.ANY", "1"))
    assert form.schema == struct(
        [
            ("a", INT),
            ("b", Schema(Type.UINT64)),
            ("c", Schema(Type.BOOLEAN, optional=True)),
            ("d", OPTIONAL_STRING),
            ("at", timestamp(optional=True)),
            ("e", Schema(Type.INT32, optional=True)),
            ("f", replace(part, optional=True)),
            ("kind", replace(STRING, parameters=symbols)),
            ("parts", Schema(Type.ARRAY, items=part)),
            ("by", Schema(Type.MAP, keys=Schema(Type.INT64), items=part)),
            ("money", struct(money, name="google.type.Money", optional=True)),
        ],
        name="shop.Order",
    )
    value = {
        "a": -1,
        "b": 1 << 63,
        "c": None,
        "d": "",
        "at": datetime(2024, 2, 29, tzinfo=UTC),
        "e": None,
        "f": {"x": "y"},
        "kind": "SOME",
        "parts": [{"x": ""}],
        "by": {-1: {"x": "z"}},
        "money": None,
    }
    assert form.decode(form.encode(value), 0) == value
    with pytest.raises(RecordError, match="e, f are given, and of the oneof which at most one can be"):
        form.encode({**value, "e": 0})
    with pytest.raises(RecordError, match="'OTHER' is none of the enum's symbols NONE, SOME, ANY"):
        form.encode({**value, "kind": "OTHER"})


def test_proto2_is_read_with_its_defaults_and_what_is_required() -> None:
    form = ProtobufFile(
        compiled(
            'syntax = "proto2"; message A { required int32 a = 1; optional string b = 2 [default = "x"]; optional int32 c = 3; }',
            {},
        )
    )
    assert form.schema == struct(
        [("a", INT), ("b", Schema(Type.STRING, default="x")), ("c", Schema(Type.INT32, optional=True))], name="A"
    )
    assert form.decode(b"\x00\x08\x01", 0) == {"a": 1, "b": "x", "c": None}
    with pytest.raises(RecordError, match="a is missing"):
        form.decode(b"\x00", 0)
    with pytest.raises(RecordError, match="holds bytes that are no Unicode"):
        form.decode(b"\x00\x08\x01\x12\x01\xff", 0)


def test_the_indexes_say_which_message_of_the_file_follows(registry: TestRegistry) -> None:
    text = (
        PROTO3 + "message A { map<string, int32> m = 1; message B { int32 x = 1; message C { string y = 1; } } } "
        "message D { int32 z = 1; }"
    )
    registry.store.register("t-value", Held("PROTOBUF", text))
    start = b"\x00\x00\x00\x00\x01"
    reader = made(registry)
    whole = reader.decode(start + b"\x00")
    assert whole == ({"m": {}}, struct([("m", Schema(Type.MAP, keys=STRING, items=INT))], name="A"))
    last = start + head([1]) + b"\x08\x07"
    assert reader.decode(last) == ({"z": 7}, struct([("z", INT)], name="D"))
    assert reader.decode(start + head([0, 0, 0]) + b"\x0a\x01q") == ({"y": "q"}, struct([("y", STRING)], name="A.B.C"))
    assert head([0, 0, 0]) == b"\x06\x00\x00\x00"
    assert reader.decode_many([last, last]) == ([{"z": 7}, {"z": 7}], struct([("z", INT)], name="D"))
    with pytest.raises(RecordError, match="2 different schemas"):
        reader.decode_many([last, start + b"\x00"])
    for bad, said in ((b"", "do not say"), (b"\x01", "do not say"), (b"\xff" * 9, "do not say"), (b"\x02\x08", "no message at 4")):
        with pytest.raises(RecordError, match=said):
            reader.decode(start + bad)
    with pytest.raises(RecordError, match="within 33 others"):
        reader.decode(start + b"\x42")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no message"),
        ("message A { B b = 1; }", '"B" is not defined'),
        ('import "other.proto"; message A { }', "other.proto"),
        ("message A { A a = 1; }", r"A is made of itself: .* \(A\.a > A\); make this field one of string or bytes"),
        ("message A { oneof o { int32 x = 1; A left = 2; } }", r"\(A\.left > A\)"),
        ("message A { B b = 1; } message B { repeated B more = 1; }", r"B is made of itself: .* \(B\.more > B\)"),
        (
            "message A { repeated B b = 1; } message B { map<string, A> a = 1; }",
            r"A is made of itself: .* \(A\.b > B\.a > A\); make",
        ),
        ('import "google/protobuf/struct.proto"; message A { google.protobuf.Struct a = 1; }', r"Struct\.fields > "),
        ("package google.type; message A { Date a = 1; } message Date { string x = 1; }", "google.type.Date has other fields"),
        ("message \ud800 { }", "no Unicode"),
        ("x" * 4_000_001, "more than 4000000 characters"),
    ],
)
def test_a_schema_that_has_no_type_here_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read(text)


@settings(max_examples=some(20, 3))
@given(st.data())
def test_of_a_schema_that_is_damaged_only_a_record_error_leaves(data: st.DataObject) -> None:
    text = to_proto(ROW)
    start = data.draw(st.integers(0, len(text)))
    bad = text[:start] + data.draw(st.text('{}[]"=;. a1é\n', max_size=5)) + text[start + data.draw(st.integers(0, 5)) :]
    with suppress(RecordError):
        assert isinstance(ProtobufFile(compiled(bad, {})).schema.type, Type)


def test_a_group_is_refused() -> None:
    with pytest.raises(RecordError, match=r"A\.g is a group"):
        ProtobufFile(compiled('syntax = "proto2"; message A { optional group G = 1 { optional int32 x = 1; } }', {}))


def test_a_schema_that_would_grow_without_end_is_refused() -> None:
    text = "message A0 { string x = 1; }" + "".join(
        f"message A{number} {{ A{number - 1} x = 1; A{number - 1} y = 2; }}" for number in range(1, 40)
    )
    with pytest.raises(RecordError, match="more than 20000 fields altogether"):
        read("message Whole { A39 a = 1; } " + text)


@pytest.mark.parametrize("name", ["{}/x.proto", "../x.proto", "a/../../x.proto", "a//b.proto", "", "."])
def test_a_reference_is_written_nowhere_but_where_it_is_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no path of a file"):
        compiled(PROTO3 + "message A { }", {name.format(tmp_path): PROTO3})
    assert list(tmp_path.iterdir()) == []


def test_a_schema_that_refers_to_others_is_read_with_them(registry: TestRegistry) -> None:
    registry.store.register("part", Held("PROTOBUF", PROTO3 + "package p; message Part { int32 x = 1; }"))
    text = PROTO3 + 'import "p/part.proto"; message Whole { p.Part part = 1; }'
    registry.store.register("whole", Held("PROTOBUF", text, (("p/part.proto", "part", 1),)))
    part = struct([("x", INT)], name="p.Part", optional=True)
    data = b"\x00\x00\x00\x00\x02\x00\x0a\x02\x08\x07"
    assert made(registry).decode(data) == ({"part": {"x": 7}}, struct([("part", part)], name="Whole"))


def test_a_compiler_that_cannot_be_run_or_does_not_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(protobuf_files, "_SECONDS", 0.001)
        with pytest.raises(SystemAway, match="could not be run"):
            read("message A { }")
    monkeypatch.setattr("sys.executable", "/no/python")
    with pytest.raises(SystemAway, match="/no/python"):
        read("message A { }")


def test_two_files_that_have_the_same_names_are_kept_apart() -> None:
    one, other = read("message A { int32 x = 1; }"), read("message A { string x = 2; }")
    assert (one.decode(b"\x00\x08\x01", 0), other.decode(b"\x00\x12\x01y", 0)) == ({"x": 1}, {"x": "y"})


def test_a_date_of_others_is_a_date() -> None:
    form = read('import "google/type/date.proto"; message A { repeated google.type.Date x = 1; }')
    assert form.decode(form.encode({"x": [date(1, 1, 1), date(9999, 12, 31)]}), 0) == {"x": [date(1, 1, 1), date(9999, 12, 31)]}


def test_beside_a_message_that_is_made_of_itself_the_others_of_its_file_are_read(registry: TestRegistry) -> None:
    registry.store.register("t-value", Held("PROTOBUF", PROTO3 + "message A { int32 x = 1; } message N { N next = 1; }"))
    start = b"\x00\x00\x00\x00\x01"
    assert made(registry).decode(start + head([0]) + b"\x08\x07")[0] == {"x": 7}
    with pytest.raises(RecordError, match="N is made of itself: recursive schemas have no type here"):
        made(registry).decode(start + head([1]))
