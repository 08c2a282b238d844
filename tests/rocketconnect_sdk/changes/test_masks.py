"""What stands in the place of values that nobody is to see."""

import hashlib
import hmac
from uuid import UUID

import pyarrow as pa
import pytest

from rocketconnect_sdk.changes import MASK_OPTIONS, ColumnMasks
from rocketconnect_sdk.changes.masks import Fixed, Hashed, Mask, Starred, TableMasks, Truncated
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, struct

TEXTS = ["", "a", "two\nlines", "Grüße", "😀 e\u0301", None, "a"]
COLUMNS = struct([("id", Schema(Type.INT32)), ("name", Schema(Type.STRING)), ("born", Schema(Type.DATE))])


def _masks(**more: str) -> ColumnMasks:
    return ColumnMasks.of(parse(MASK_OPTIONS, {key.replace("_", "."): value for key, value in more.items()}))


@pytest.mark.parametrize("mask", [Fixed("***"), Starred(), Truncated(3), Truncated(0), Hashed(b"salt")])
def test_values_at_once_are_masked_as_one_by_one(mask: Mask) -> None:
    expected = [None if text is None else mask.value(text) for text in TEXTS]
    made = mask.array(pa.array(TEXTS, pa.string()))
    assert (made.type, made.to_pylist()) == (pa.string(), expected)
    assert mask.array(pa.array([], pa.string())).to_pylist() == []
    assert TableMasks([(0, mask)]).rows([(text,) for text in TEXTS]) == [(text,) for text in expected]


def test_texts_keep_what_their_mask_says() -> None:
    assert [Fixed("x").value("abc"), Starred().value("Grüße"), Truncated(2).value("Grüße")] == ["x", "*****", "Gr"]


@pytest.mark.parametrize(
    ("value", "raw", "kind"),
    [
        ("Grüße", "Grüße".encode(), pa.string()),
        (b"\x00\xff", b"\x00\xff", pa.binary()),
        (-7, b"-7", pa.int64()),
        (UUID(int=1), str(UUID(int=1)).encode(), pa.uuid()),
    ],
)
def test_a_hash_is_the_hmac_of_the_value_as_it_is_written(value: object, raw: bytes, kind: pa.DataType) -> None:
    expected = hmac.new(b"salt", raw, hashlib.sha256).hexdigest()
    assert Hashed(b"salt").value(value) == expected
    assert Hashed(b"salt").array(pa.array([value, None], kind)).to_pylist() == [expected, None]


def test_a_salt_is_never_shown() -> None:
    masks = _masks(column_mask_hash=".*id", column_mask_salt="${env:SALT}")
    assert "SALT" not in repr(masks)
    assert "SALT" not in repr(masks.on("t", COLUMNS, ()))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"column_mask": ".*born"}, "column.mask is for columns of string, and born is of date"),
        ({"column_mask": ".*name"}, "name is part of the key"),
        ({"column_mask_hash": ".*id"}, "column.mask.salt is not given"),
        (
            {"column_mask_hash": ".*name", "column_mask_salt": "${env:S}", "column_truncate": "t.name"},
            "taken by column.mask.hash and column.truncate",
        ),
    ],
)
def test_what_cannot_be_masked_is_told_before_and_when_it_comes(given: dict[str, str], told: str) -> None:
    masks = _masks(**given)
    with pytest.raises(PermanentError, match=told):
        masks.on("t", COLUMNS, ["name"])
    (problem,) = masks.problems({"t": (COLUMNS, ["name"])})
    assert told in problem.reason


def test_expressions_that_match_no_column_are_told() -> None:
    problems = _masks(column_mask="t.name,t.nothing", column_truncate="name").problems({"t": (COLUMNS, ["id"])})
    assert [(problem.key, problem.value) for problem in problems] == [("column.mask", "t.nothing"), ("column.truncate", "name")]
