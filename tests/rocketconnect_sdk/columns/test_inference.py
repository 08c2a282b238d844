"""Types of texts where nobody has named them."""

from collections.abc import Sequence

import pytest

from rocketconnect_sdk.columns.declared import parse_columns, type_name, write_columns
from rocketconnect_sdk.columns.inference import inferred_columns, inferred_type, null_text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], "string"),
        (["true", "false"], "boolean"),
        (["True"], "string"),
        (["0", "1"], "int64"),
        (["-7", "9223372036854775807"], "int64"),
        (["9223372036854775808", "1"], "decimal(38,0)"),
        (["1" * 39], "string"),
        (["007"], "string"),
        (["+7"], "string"),
        (["12E3", "7E1"], "string"),
        (["1", "2.5"], "double"),
        (["1.50", "0.10"], "double"),
        (["1e-05", "2.5E10"], "double"),
        (["0.12345678901234567890", "12"], "decimal(38,20)"),
        (["9007199254740993", "0.5"], "decimal(38,1)"),
        (["1.0e999"], "string"),
        (["0.1", "x"], "string"),
        (["2024-02-29"], "date"),
        (["2023-02-29"], "string"),
        (["2024-02-29", "2024-02-29 01:02:03"], "string"),
        (["2024-02-29 01:02:03", "2024-02-29T01:02:03.5"], "timestamp_ntz"),
        (["2024-02-29T01:02:03Z"], "timestamp"),
        (["2024-02-29T01:02:03Z", "2024-02-29T01:02:03"], "string"),
        (["2024-02-29T01:02:03.123456789Z"], "timestamp(ns)"),
        (["2024-02-29T01:02:03+02:00"], "string"),
        (["NaN"], "string"),
    ],
)
def test_the_narrowest_type_is_taken_that_loses_nothing(texts: Sequence[str], expected: str) -> None:
    assert type_name(inferred_type(texts)) == expected


def test_what_is_inferred_can_be_written_and_read_again() -> None:
    texts = {"id": ["1"], "a name": ["x"], "price": ["0.12345678901234567890"]}
    texts |= {"day:night": ["2024-02-29"], "a:b": ["x"], "f(x)": ["1"]}
    written = write_columns(inferred_columns(texts))
    assert written == "id:int64,a name,price:decimal(38,20),day:night:date,a:b:string,f(x):int64"
    assert write_columns(parse_columns(written)) == written


@pytest.mark.parametrize("name", ["a,b", "", " x", "a)b"])
def test_a_column_whose_name_cannot_be_written_stays_a_string(name: str) -> None:
    found = inferred_columns({name: ["1"], "n": ["1"]})
    assert [type_name(field.schema) for field in found.fields] == ["string", "int64"]
    written = write_columns(found)
    assert written == "n:int64"


def test_a_text_that_stands_for_null_is_found_where_it_keeps_columns_from_having_types() -> None:
    columns = {"delay": ["1", "NA"], "when": ["2024-02-29", "NA"], "name": ["x", "NA"], "other": ["1", "null"]}
    assert null_text(columns) == ("NA", ["delay", "when"])
    assert null_text({"name": ["x"], "only": ["NA"]}) == ("", ())
