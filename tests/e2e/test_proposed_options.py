"""A sink that takes rows without saying how is told which options make rows of what is in its topic: they work as they are told."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import spoken

pytestmark = [pytest.mark.e2e, pytest.mark.spark]
HANG_SECONDS = 180
BOOKS = "year,title,price,added\n1999,One,1.5,2024-02-29\n2005,Two,,2024-03-01\n"
TYPED = [
    {"year": 1999, "title": "One", "price": 1.5, "added": "2024-02-29"},
    {"year": 2005, "title": "Two", "price": None, "added": "2024-03-01"},
]


def rc(instance: Any, *words: str) -> tuple[int, str]:
    code, out, err = spoken.rc(instance.url, *words)
    return code, out + err


def given(options: list[str]) -> list[str]:
    return [word for option in options for word in ("-s", option)]


def test_types_are_found_in_a_file_that_comes_after_its_connector(instance: Any, tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    source = ["connector.class=file_source", "topic=late", f"filename={path}", "format=csv", "columns=infer"]
    assert rc(instance, "connector", "create", "late-in", *given([*source, "value.converter=arrow"]))[0] == 0
    assert rc(instance, "connector", "wait", "late-in", "--state", "waiting")[0] == 0
    code, said = rc(instance, "connector", "status", "late-in")
    assert code == 0
    assert "no whole row" in said
    path.write_text(BOOKS)
    code, said = rc(instance, "connector", "wait", "late-in", "--state", "idle")
    assert code == 0, said
    code, said = rc(instance, "topic", "peek", "late", "--converter", "arrow", "-o", "json")
    assert code == 0, said
    assert "1999" in said
    assert rc(instance, "connector", "delete", "late-in")[0] == 0


@pytest.mark.parametrize(
    ("converter", "key", "proposal"),
    [
        pytest.param([], "columns", ["columns=year:int64,title,price:double,added:date"], id="text"),
        pytest.param(["value.converter=arrow"], "value.converter", ["value.converter=arrow"], id="packed", marks=pytest.mark.slow),
    ],
)
def test_the_options_that_a_refusal_names_make_rows_of_the_topic(
    instance: Any, tmp_path: Path, converter: list[str], key: str, proposal: list[str]
) -> None:
    topic = f"proposed-{key.replace('.', '-')}"
    path, out = tmp_path / "books.csv", tmp_path / "books.parquet"
    path.write_text(BOOKS)
    source = ["connector.class=file_source", f"topic={topic}", f"filename={path}", "format=csv", "columns=infer", *converter]
    code, said = rc(instance, "connector", "create", f"{topic}-in", *given(source))
    assert code == 0, said
    assert "finds year int64, title string, price double, added date (the first 2 rows of" in said
    assert rc(instance, "connector", "wait", f"{topic}-in", "--state", "idle")[0] == 0

    sink = ["connector.class=file_sink", f"topics={topic}", f"filename={out}", "format=parquet", "flush.interval=100ms"]
    code, said = rc(instance, "connector", "validate", *given(sink), "-o", "json")
    assert code != 0
    (problem,) = json.loads(said)["problems"]
    assert problem["key"] == key
    assert problem["fix"].startswith(f"Set {' and '.join(proposal)}.")
    assert ("both ends of the topic" in problem["fix"]) == (key == "columns")
    assert f"of `{topic}`" in problem["reason"]
    code, refusal = rc(instance, "connector", "create", f"{topic}-out", *given(sink))
    assert code != 0
    assert problem["reason"] in refusal
    assert f"-> {problem['fix']}" in refusal
    code, said = rc(instance, "connector", "create", f"{topic}-out", *given([*sink, *proposal]))
    assert code == 0, said
    assert "Warning" not in said
    assert rc(instance, "connector", "wait", f"{topic}-out", "--state", "idle")[0] == 0
    rows = sorted(pq.read_table(out).to_pylist(), key=lambda row: row["year"])
    assert [{**row, "added": str(row["added"])} for row in rows] == TYPED
    _check_second_sink(instance, topic, [*sink, *proposal], tmp_path / "other.parquet")
    for end in ("second", "out", "in"):
        assert rc(instance, "connector", "delete", f"{topic}-{end}")[0] == 0


def _check_second_sink(instance: Any, topic: str, options: list[str], other: Path) -> None:
    """A second sink of the topic goes elsewhere, and says what waits in its open batch."""
    code, refusal = rc(instance, "connector", "create", f"{topic}-second", *given(options))
    assert code != 0
    assert f"the connector '{topic}-out' writes there already" in refusal
    elsewhere = {**dict(option.split("=", 1) for option in options), "filename": str(other), "flush.interval": "1h"}
    words = given([f"{key}={value}" for key, value in elsewhere.items()])
    assert rc(instance, "connector", "create", f"{topic}-second", *words)[0] == 0
    deadline = time.monotonic() + HANG_SECONDS
    while "task 0: 2 records wait in an open batch for " not in (told := rc(instance, "connector", "status", f"{topic}-second")[1]):
        assert time.monotonic() < deadline, told
        time.sleep(0.2)
    assert re.search(r"; it is written in 5\dm, or when it is full", told), told
    seen = rc(instance, "topic", "peek", topic)[1]
    assert all(f'"title": "{title}"' in seen or f'"title":"{title}"' in seen for title in ("One", "Two")), seen
