"""What the name of a partition cannot hold."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.file_sink.columns import DIRECTORY, Columns
from connectors.lakes.partition_values import NOTHING, lost
from connectors.lakes.upserts import Keyed, Upserts
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import OPTIONAL_STRING, struct
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.lakes.changes import NUMBER, Frame
from tests.rocketconnect_sdk.edges import EDGES


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "the column country is '', which would become null: the table keeps it in the name of a partition. Give the column"),
        (NOTHING, f"the column country is '{NOTHING}', which would become null"),
        ("a\0b", "and no name has the character U\\+0000"),
        ("é" * 130, "and a name has up to 255 bytes"),
        ("/" * 90, "and a name has up to 255 bytes"),
        (b"", "the column country is '', which would become null"),
        (b"\xff", "the column country is bytes that are no text, which the name of a partition does not hold as they are"),
    ],
)
def test_a_value_that_the_name_of_a_partition_cannot_hold_is_told_by_row(value: str | bytes, told: str) -> None:
    kind = pa.binary() if isinstance(value, bytes) else pa.string()
    found = lost(pa.table({"id": [1, 2, 3], "country": pa.array([None, value, None], kind)}), ["day", "country"])
    assert list(found) == [1]
    with pytest.raises(ValueError, match=told):
        raise ValueError(found[1])


@given(st.lists(st.none() | st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=20)))
def test_all_other_texts_are_held(texts: list[str | None]) -> None:
    assert lost(pa.table({"country": pa.array(texts, pa.string())}), ["country"]) == {}


def test_values_that_are_neither_text_nor_bytes_are_held() -> None:
    for values in EDGES.values():
        if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
            assert lost(pa.table({"country": values}), ["country"]) == {}


def test_a_key_that_is_no_value_of_a_partition_is_told_by_row() -> None:
    """Delta has it as null, which is no row's key: each change would add a row."""
    evolving = Columns(Path("/table"), Policy.EVOLVE, DIRECTORY, logging.getLogger())
    upserts = Upserts(Path("/table"), None, evolving, Keyed(("id", "country"), by_key=False, delete=True, truncate=False))
    rows = struct([("id", NUMBER), ("country", OPTIONAL_STRING)], name="row", optional=True)
    values = to_spark(to_array([{"id": 0, "country": "ch"}, {"id": 1, "country": ""}], rows))
    upserts.say(rows)
    with pytest.raises(RecordError, match="the column country is '', which would become null"):
        upserts.prepare(Frame(pa.table({"value": values})), None, ["country"])  # type: ignore[arg-type]
    assert list(upserts.reasons) == [1]
