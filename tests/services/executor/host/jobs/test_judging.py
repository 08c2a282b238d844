"""What the newest messages of a topic say of a sink that takes rows."""

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import pytest

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from services.executor.host.jobs.forms import Form, content_of
from services.executor.host.jobs.judging import Given, Read, judge

ROW = struct([("year", Schema(Type.INT64)), ("title", STRING)])
PACKED = Rows(*array_of([{"year": 1999, "title": "One"}], ROW), offsets_of([(1,)])).pack()
ENVELOPE = b'{"schema":{"type":"string"},"payload":"x"}'
UNTYPED = b'{"schema":null,"payload":{"year":1999,"title":"One"}}'
OBJECTS = [
    b'{"year":1999,"title":"One","price":1.5,"added":"2024-02-29","tags":["a"]}',
    b'{"year":2005,"title":"Two","price":3,"added":null}',
]
COLUMNS = "year:int64,title,price:double,added:date,tags:json"
TEXTS = Given({}, "string")
TYPED = replace(TEXTS, needs_types=True)
LINES = replace(TEXTS, takes_rows=False)


def read(*bodies: bytes) -> list[Read]:
    return [Read(body, body.decode(), STRING) for body in bodies]


def refused(*bodies: bytes) -> list[Read]:
    return [Read(body, refusal="not of this form") for body in bodies]


def one(given: Given, messages: list[Read]) -> Problem:
    (problem,) = judge({"books": messages}, given)
    return problem


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (PACKED, Form.PACKED),
        (PACKED[:20], Form.BYTES),
        (ENVELOPE, Form.ENVELOPE),
        (b'{"schema":"public","payload":1}', Form.OBJECT),
        (UNTYPED, Form.UNTYPED),
        (b'{"schema":null,"payload":7}', Form.JSON),
        (b'{"schema":null,"payload":{"before":null,"after":{},"op":"c"}}', Form.CHANGE),
        (b"\0\0\0\0\x01abc", Form.REGISTERED),
        (OBJECTS[0], Form.OBJECT),
        (b'{"before":null,"after":{},"op":"c"}', Form.CHANGE),
        (b"[1]", Form.JSON),
        (b"7", Form.JSON),
        (b"one", Form.TEXT),
        (b"\xff\xfe", Form.BYTES),
        (b"\0", Form.TEXT),
    ],
)
def test_a_message_says_what_it_is(body: bytes, form: Form) -> None:
    assert content_of(body).form is form


def test_objects_without_types_are_answered_with_their_columns() -> None:
    problem = one(TYPED, read(*OBJECTS))
    assert (problem.key, problem.is_warning) == ("columns", False)
    fields = "year int64, title string, price double, added date, tags json"
    found = f"the newest 2 messages of `books` hold JSON objects without a schema; their fields: {fields}"
    assert problem.reason == f"is not given, and values have no types: {found}"
    assert problem.fix == f"Set columns={COLUMNS}."
    assert judge({"books": read(*OBJECTS)}, replace(TEXTS, columns=parse_columns(COLUMNS))) == []


def test_objects_beside_rows_with_types_are_a_warning() -> None:
    problem = one(TYPED, [Read(PACKED, packed=None, schema=ROW, value={"year": 1, "title": "x"}), *read(*OBJECTS)])
    assert problem.is_warning
    assert "Without it a table" not in problem.fix


def test_where_a_table_may_say_the_types_it_is_a_warning() -> None:
    problem = one(TEXTS, read(*OBJECTS))
    assert problem.is_warning
    assert problem.fix == f"Set columns={COLUMNS}. Without it a table that is there has to say the types."


def test_columns_are_proposed_of_the_objects_of_all_topics_and_of_types_that_the_sink_takes() -> None:
    given = replace(TYPED, takes=lambda schema: schema.type is not Type.JSON)
    found = judge({"books": read(OBJECTS[0]), "papers": read(b'{"pages":7}', b'{"pages":7.5}'), "empty": []}, given)
    assert {problem.fix for problem in found} == {"Set columns=year:int64,title,price:double,added:date,pages:double."}
    assert [problem.reason.partition("`")[2].partition("`")[0] for problem in found] == ["books", "papers"]


@pytest.mark.parametrize(
    ("given", "bodies", "fix"),
    [
        (TEXTS, [PACKED], "Set value.converter=arrow."),
        (
            Given({"value.converter.schemas.enable": "false"}, "json"),
            [PACKED],
            "Set value.converter=arrow, and leave out value.converter.schemas.enable.",
        ),
        (Given({}, "json"), OBJECTS, f"Set value.converter=json and value.converter.schemas.enable=false and columns={COLUMNS}."),
        (
            Given({}, "json", columns=parse_columns("year:int64")),
            OBJECTS,
            "Set value.converter=json and value.converter.schemas.enable=false.",
        ),
        (Given({}, "arrow"), [ENVELOPE, ENVELOPE, b"x"], "Set value.converter=json."),
    ],
)
def test_a_converter_that_reads_nothing_is_refused_with_the_one_that_does(given: Given, bodies: list[bytes], fix: str) -> None:
    problem = one(given, refused(*bodies))
    assert (problem.key, problem.value, problem.is_warning, problem.fix) == ("value.converter", given.converter, False, fix)
    assert problem.reason.startswith("reads none of the newest " if len(bodies) > 1 else "does not read the newest message of ")
    assert problem.reason.endswith("not of this form")
    assert one(replace(given, is_tolerant=True), refused(*bodies)).is_warning


def test_messages_of_several_forms_are_counted_and_some_that_are_not_read_are_a_warning() -> None:
    problem = one(TEXTS, [*read(b"one", b"two"), *refused(b"\xff\xfe")])
    assert problem.is_warning
    assert problem.reason == (
        "does not read 1 of the newest 3 messages of `books` (text: 2, bytes that are no text: 1): not of this form"
    )


def test_an_envelope_that_is_read_as_text_needs_its_converter() -> None:
    assert one(TYPED, read(ENVELOPE)).fix == "Set value.converter=json."
    off = Given({"value.converter.schemas.enable": "false"}, "json", needs_types=True)
    problem = one(off, [Read(ENVELOPE, msgspec.json.decode(ENVELOPE))])
    assert problem.fix == "Set value.converter=json and value.converter.schemas.enable=true."


@pytest.mark.parametrize("body", [b"one", b"[1]"])
def test_what_holds_no_rows_is_told_with_what_the_source_can_do(body: bytes) -> None:
    problem = one(TYPED, read(body))
    assert (problem.key, problem.is_warning) == ("value.converter", False)
    assert "columns=infer" in problem.fix


def test_columns_that_are_given_are_held_against_what_is_there() -> None:
    def judged(columns: str, *bodies: bytes) -> Any:
        return one(replace(TEXTS, columns=parse_columns(columns)), read(*bodies))

    problem = judged("year:int64", b'{"year":12.5}')
    assert "the column `year` is a whole number, and `12.5` is not; make it `double`" in problem.reason
    problem = judged("year:int64", ENVELOPE)
    assert problem.fix == "Set value.converter=json."
    assert problem.is_warning


def test_rows_and_what_transforms_may_make_rows_of_are_no_problem() -> None:
    assert judge({"books": [Read(PACKED, schema=ROW)]}, TYPED) == []
    assert judge({"books": read(b"one")}, replace(TYPED, may_change=True)) == []
    assert judge({"books": []}, TYPED) == []


def test_of_envelopes_without_a_schema_the_fields_of_the_payload_are_proposed() -> None:
    columns = "columns=year:int64,title."
    problem = one(TYPED, read(UNTYPED, UNTYPED))
    assert (problem.key, problem.fix) == ("columns", f"Set value.converter=json and {columns}")
    assert problem.reason.endswith("JSON objects in envelopes whose schema is null; their fields: year int64, title string")
    whole = msgspec.json.decode(UNTYPED)
    off = Given({"value.converter.schemas.enable": "false"}, "json", needs_types=True)
    fix = f"Set value.converter=json and value.converter.schemas.enable=true and {columns}"
    assert one(off, [Read(UNTYPED, whole)]).fix == fix
    json = Given({}, "json", needs_types=True)
    assert one(json, [Read(UNTYPED, whole["payload"])]).fix == f"Set {columns}"


def test_columns_are_of_a_payload_where_the_converter_opens_its_envelope() -> None:
    columns = parse_columns("year:int64")
    whole = msgspec.json.decode(UNTYPED)
    assert judge({"books": [Read(UNTYPED, whole["payload"])]}, Given({}, "json", columns)) == []
    problem = one(replace(TEXTS, columns=columns), read(UNTYPED))
    assert problem.reason.startswith("is for JSON objects: ")
    assert (problem.fix, problem.is_warning) == ("Set value.converter=json.", True)


@pytest.mark.parametrize(
    ("given", "body", "fix"),
    [
        (LINES, PACKED, "Set value.converter=arrow."),
        (replace(LINES, converter="arrow"), b"one", "Set value.converter=string."),
        (replace(LINES, converter="arrow"), b"\xff\xfe", "Set value.converter=bytes."),
        (replace(LINES, converter="arrow"), ENVELOPE, "Set value.converter=json."),
        (replace(LINES, converter="arrow"), UNTYPED, "Set value.converter=json."),
        (replace(LINES, converter="json"), OBJECTS[0], "Set value.converter=json and value.converter.schemas.enable=false."),
        (replace(LINES, converter="json"), b"[1]", "Set value.converter=json and value.converter.schemas.enable=false."),
    ],
)
def test_a_sink_that_takes_values_of_any_kind_is_warned_of_what_its_converter_does_not_read(
    given: Given, body: bytes, fix: str
) -> None:
    problem = one(given, refused(body))
    assert (problem.key, problem.value, problem.is_warning, problem.fix) == ("value.converter", given.converter, True, fix)
    assert problem.reason.endswith("not of this form")


def test_packed_rows_that_are_written_as_bytes_are_told_and_nothing_else_that_is_read() -> None:
    problem = one(replace(LINES, converter="bytes"), [Read(PACKED, PACKED), Read(b"x", b"x")])
    assert problem.is_warning
    assert problem.reason == (
        "does not unpack what is there: the newest 2 messages of `books` hold rows that value.converter=arrow packed: 1, text: 1"
    )
    assert problem.fix == "Set value.converter=arrow."
    assert judge({"books": [Read(PACKED, schema=ROW)]}, replace(LINES, converter="arrow")) == []
    assert judge({"books": read(*OBJECTS, ENVELOPE, b"one")}, LINES) == []


def test_where_a_source_of_ours_sent_objects_it_is_told_how_it_sends_types() -> None:
    messages = [replace(each, is_ours=True) for each in read(*OBJECTS)]
    assert "both ends of the topic have value.converter=arrow, or json" in one(TYPED, messages).fix
    assert "both ends" not in one(TYPED, [*messages, *read(OBJECTS[0])]).fix


def test_columns_that_are_in_no_message_at_all_are_refused_with_the_fields_that_are_there() -> None:
    given = replace(TEXTS, columns=parse_columns("yeer:int64,titel"))
    problem = one(given, read(*OBJECTS))
    assert (problem.key, problem.value, problem.is_warning) == ("columns", "yeer:int64,titel", False)
    assert problem.reason == (
        "names fields that no message has of the newest 2 of `books`: yeer, titel; they have: year, title, price, added, tags"
    )
    assert problem.fix == f"Set columns={COLUMNS}."


@pytest.mark.parametrize(
    ("columns", "topics"),
    [
        ("yeer:int64", {"books": read(*OBJECTS), "papers": read(b'{"yeer":1}')}),
        ("yeer:int64", {"books": [*read(*OBJECTS), *read(b"one")]}),
        ("yeer:int64", {"books": [*read(*OBJECTS), Read(PACKED, schema=ROW)]}),
        ("yeer:int64", {"books": [*read(*OBJECTS), *refused(b"x")]}),
        ("year:int64,titel", {"books": read(*OBJECTS)}),
    ],
)
def test_columns_that_some_message_may_have_refuse_nothing(columns: str, topics: dict[str, list[Read]]) -> None:
    problems = judge(topics, replace(TEXTS, columns=parse_columns(columns)))
    assert [problem.is_warning for problem in problems] == [True]


def test_columns_of_which_some_are_in_no_message_are_named() -> None:
    problem = one(replace(TEXTS, columns=parse_columns("year:int64,titel")), read(*OBJECTS))
    assert problem.reason.startswith("names fields that no message has of the newest 2 of `books`: titel; they have: year, ")
    assert judge({"books": read(b"{}")}, replace(TEXTS, columns=parse_columns("year:int64")))[0].is_warning


def test_columns_that_transforms_may_make_are_not_refused() -> None:
    assert judge({"books": read(*OBJECTS)}, replace(TEXTS, columns=parse_columns("yeer"), may_change=True)) == []


@pytest.mark.parametrize("body", [b"{}", b'{"":1}', b'{"a,b":1}'])
def test_where_no_field_can_be_a_column_none_is_proposed(body: bytes) -> None:
    for given in (TYPED, TEXTS, replace(TEXTS, columns=parse_columns("id"))):
        assert "Set columns=NAME:TYPE,... for the fields that are to be columns." in one(given, read(body)).fix


TITLES = Read(PACKED, schema=ROW, packed=array_of([{"year": 1999, "title": "1999/01/01"}], ROW)[0])
TITLE = Read(b"{}", {"year": 1999, "title": "1999/01/01"}, ROW)


@pytest.mark.parametrize("message", [TITLES, TITLE])
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("humidity:double", "names fields that no row has of the newest message of `books` (*): humidity; they have: year, title"),
        ("year:int64,humidity:double", "names fields that no row has of the newest message of `books` (*): humidity; they have: *"),
        ("title:date", "does not fit the newest message of `books` (*): *1999/01/01*"),
        ("year:boolean,title:date", "does not fit the newest message of `books` (*): the column `year` *; the column `title` *"),
    ],
)
def test_columns_that_rows_with_types_do_not_have_are_told(message: Read, columns: str, said: str) -> None:
    problem = one(Given({}, "arrow", parse_columns(columns)), [message])
    assert (problem.key, problem.value, problem.is_warning) == ("columns", columns, True)
    assert fnmatchcase(problem.reason, said), problem.reason
    assert "as the messages say what the" in problem.fix


def test_columns_that_rows_with_types_have_are_not_told() -> None:
    for columns in ("year:int64,title", "title", "year:int32"):
        assert judge({"books": [TITLES, TITLE]}, Given({}, "arrow", parse_columns(columns))) == []
    change = struct([(name, nullable(ROW)) for name in ("before", "after", "op")])
    assert judge({"books": [Read(b"{}", {}, change)]}, Given({}, "json", parse_columns("year:int64"))) == []


def test_numbers_that_a_column_of_32_bits_rounds_are_told() -> None:
    body = b'{"lat":12.3456789,"lon":0.1}'
    given = replace(TEXTS, columns=parse_columns("lat:float,lon:float"))
    found = one(given, read(body))
    assert found.is_warning
    assert found.reason == (
        "has float, which keeps 7 digits, for more of them in the newest message of `books` (JSON objects without a schema): "
        "12.3456789 becomes 12.345679 in lat"
    )
    assert found.fix == "Set columns=lat:double,lon:float to keep them."
    row = struct([("lat", Schema(Type.FLOAT64))])
    typed = Read(b"x", {"lat": 98.7654321}, row)
    assert "98.7654321 becomes 98.765434 in lat" in one(replace(TEXTS, columns=parse_columns("lat:float")), [typed]).reason
    assert judge({"books": [typed]}, replace(TEXTS, columns=parse_columns("lat:double"))) == []
