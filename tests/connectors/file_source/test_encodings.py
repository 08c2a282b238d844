"""Files in other encodings give the records of the same file in UTF-8, at the positions of their own bytes."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.file_source import FileSource
from connectors.file_source.encodings import ENCODINGS, Transcoded
from connectors.file_source.records import Format, JsonLines, Text
from connectors.file_source.rows import Csv
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Offset, Rejected
from rocketconnect_sdk.testing import at
from tests.connectors.file_source.test_records import read
from tests.connectors.polling import polled

OTHERS = [name for name in ENCODINGS if name != "utf-8"]
FORMATS = ["text", "csv", "jsonlines"]
LIMIT = 1_000


def make(form: str) -> Format:
    if form == "text":
        return Text(LIMIT, replace=False)
    return JsonLines(LIMIT, replace=False) if form == "jsonlines" else Csv(LIMIT, replace=False)


def cut_all(form: Format, data: bytes, size: int) -> tuple[list[object], list[Offset]]:
    """Cuts as the reader does, with so many new bytes each time."""
    at = 0
    if form.needs_header:
        line, newline, _ = data.partition(b"\n")
        form.header(line)
        at = len(line) + len(newline)
    values: list[object] = []
    offsets: list[Offset] = []
    there = at
    while at < len(data):
        there = min(len(data), there + size)
        last = there == len(data)
        found = form.cut(data[at:there], at, last=last)
        values += found.values
        offsets += found.offsets
        at += found.used
        if last and not found.used:
            break
    return values, offsets


@pytest.mark.parametrize("form", FORMATS)
@given(st.data())
def test_records_are_those_of_the_same_file_in_utf8(form: str, data: st.DataObject) -> None:
    encoding = data.draw(st.sampled_from(OTHERS))
    characters = [bytes([byte]).decode(encoding, "ignore") for byte in range(0xA0, 0x100)]
    letter = st.sampled_from([*filter(None, characters), *'ab,"\n\r', "\n", '"x"\n'])
    text = "h,i\n" + "".join(data.draw(st.lists(letter, max_size=40))) + data.draw(st.sampled_from(["", "\n"]))
    size = data.draw(st.integers(1, 60))
    expected, their_offsets = cut_all(make(form), text.encode(), 1 << 10)
    values, offsets = cut_all(Transcoded(make(form), encoding), text.encode(encoding), size)
    # A character is a byte.
    assert offsets == [(len(text.encode()[: offset[0]].decode()), *offset[1:]) for offset in their_offsets]
    begun = 0
    for value, other, offset in zip(values, expected, offsets, strict=True):
        if not isinstance(other, Rejected):
            assert value == other
            continue
        assert isinstance(value, Rejected)
        assert (value.error, value.reason) == (other.error, other.reason)
        end = offset[0] - (len(offset) == 1)
        original = text.encode(encoding)[end - value.length : end]
        assert (value.original, value.sha256) == (original, sha256(original).hexdigest())
        assert other.original == original.decode(encoding).encode()
        assert end - value.length >= begun
        begun = offset[0]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_read_in_its_encoding_and_goes_on_at_any_record(tmp_path: Path, form: str) -> None:
    lines = {"text": ["k", "für", "5 €", "š"], "csv": ["k", "für", "5 €", "š"], "jsonlines": ['"k"', '"für"', '"5 €"', '"š"']}[form]
    data = "".join(f"{line}\n" for line in lines).encode("cp1252")
    path = tmp_path / "a"
    path.write_bytes(data)
    values, offsets, partition = read_file(path, {}, form)
    texts = [value["k"] if isinstance(value, dict) else value for value in values]
    assert texts == ["k", "für", "5 €", "š"][form == "csv" :]
    assert offsets[-1] == (len(data),)
    for number, offset in enumerate(offsets):
        assert read_file(path, {partition: offset}, form)[0] == values[number + 1 :]


def read_file(path: Path, positions: dict[str, Offset], form: str) -> tuple[list[Any], list[Offset], str]:
    source = FileSource()
    config = parse(source.options, {"filename": str(path), "format": form, "encoding": "cp1252"})
    task = source.open(config, {"share": "0/1"}, TaskContext())
    task.start(at(positions))
    values: list[Any] = []
    offsets: list[Offset] = []
    partition = ""
    for batch in polled(task):
        values += batch.values
        offsets += batch.offsets
        partition = batch.partition
    task.close()
    return values, offsets, partition


def test_a_byte_that_is_no_character_goes_the_way_of_other_bad_text() -> None:
    data = b"f\xfcr\n\xe4\x81\xe4\nlast\n"
    values, offsets, _ = read([data], encoding="cp1252")
    assert (values[0], values[2]) == ("für", "last")
    assert offsets == [(4,), (8,), (13,)]
    bad = values[1]
    assert isinstance(bad, Rejected)
    assert "bytes 4 to 8: not cp1252: byte 1 is no character of it" in bad.reason
    assert (bad.original, bad.length, bad.sha256) == (b"\xe4\x81\xe4", 3, sha256(b"\xe4\x81\xe4").hexdigest())
    assert read([data], encoding="cp1252", encoding_errors="replace")[0] == ["für", "ä\ufffdä", "last"]


def test_a_record_that_is_too_long_in_utf8_alone_is_refused_with_its_own_bytes() -> None:
    line = b"\x80" * 20
    (value,) = read([line + b"\n"], encoding="cp1252")[0]
    assert isinstance(value, Rejected)
    assert value.error == "RecordTooLarge"
    assert "60 bytes" in value.reason
    assert (value.original, value.length) == (line, 20)
