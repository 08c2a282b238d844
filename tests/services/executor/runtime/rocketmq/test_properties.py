"""What keys, headers, times and missing values become in a message."""

import base64
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.record import SourceBatch
from rocketmq_remoting.errors import MessageTooLarge
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.rocketmq.properties import EMPTY, EXTENSION, KEY_BASE64, TIMESTAMP, TOMBSTONE, extras_of, null_places
from services.executor.runtime.sink.decode.headers import headers_of


def batch(values: Sequence[object], **columns: object) -> SourceBatch:
    return SourceBatch("p", values, [(number,) for number in range(1, len(values) + 1)], **columns)  # type: ignore[arg-type]


@given(st.lists(st.none() | st.binary(max_size=5) | st.text(max_size=5).map(str.encode), min_size=1, max_size=5))
def test_a_key_is_text_where_it_can_be_read_and_base64_elsewhere(keys: list[bytes | None]) -> None:
    extras, bad = extras_of(batch(["v"] * len(keys)), keys)
    assert bad == {}
    assert extras is not None
    for key, extra in zip(keys, extras, strict=True):
        said = decode_properties(extra)
        if key is None:
            assert said == {}
        elif "KEYS" in said:
            assert said == {"KEYS": key.decode()}
            assert said["KEYS"].isprintable()
        else:
            assert base64.b64decode(said[KEY_BASE64].rstrip("=") + "==" if key else b"") == key


def test_a_header_called_keys_stands_in_the_place_of_the_key() -> None:
    extras, bad = extras_of(batch(["v", "v"], headers=[{"KEYS": "mine"}, {"other": "x"}]), [b"a", b"b"])
    assert bad == {}
    assert list(map(decode_properties, extras or ())) == [{"KEYS": "mine"}, {"KEYS": "b", f"{EXTENSION}other": "x"}]


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\1\2", exclude_categories=["Cs"]), min_size=1), st.sampled_from(["", "x", "ü"])
    )
)
@example({"a": "", "b,c": "", "d": "x"})
def test_headers_come_back_as_they_were_those_without_a_text_too(headers: dict[str, str]) -> None:
    headers = {f"h{name}": value for name, value in headers.items()}
    extras, bad = extras_of(batch(["v"], headers=[headers]), None)
    assert bad == {}
    assert extras is not None
    found = dict(headers_of(decode_properties(extras[0]), "id"))
    assert found.pop("MQ-SYS-MSG_ID") == "id"
    assert found == headers


def test_a_property_of_somebody_else_that_is_called_like_ours_is_a_header() -> None:
    assert headers_of({EMPTY: "[1]"}, "id")[EMPTY] == "[1]"


def test_records_without_a_value_are_tombstones_in_columns_too() -> None:
    for values in (["a", None], Column(pa.array(["a", None]))):
        extras, _ = extras_of(batch(values, timestamps_ms=[1, 2]), None)
        assert list(map(decode_properties, extras or ())) == [{TIMESTAMP: "1"}, {TIMESTAMP: "2", TOMBSTONE: "1"}]
        assert null_places(values) == [1]


def test_what_a_message_cannot_hold_costs_its_record_alone() -> None:
    shared = {"name": "\x01"}
    extras, bad = extras_of(batch(["a", "b", "c", "d"], headers=[{}, shared, shared, {"x": "y" * 40_000}]), [b"k"] * 4)
    assert extras is not None
    assert decode_properties(extras[0]) == {"KEYS": "k"}
    assert bad.keys() == {1, 2, 3}
    assert isinstance(bad[3], MessageTooLarge)
    long, bad = extras_of(batch(["a"]), [b"k" * 40_000])
    assert (long, type(bad[0])) == ([b""], MessageTooLarge)


def test_without_any_of_them_there_is_nothing() -> None:
    assert extras_of(batch(["a"]), None) == (None, {})
