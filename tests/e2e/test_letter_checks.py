"""`rocketconnect dlq edit` and `replay --dry-run` with the real services and broker: what becomes a record, and what can't."""

import base64
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.letters.dead_letters import replay_topic
from rocketmq_remoting import Client
from rocketmq_remoting.batch import encode_batch
from tests.e2e.test_dead_letters import Sink
from tests.services.executor.configured import CAST

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def sink(instance: Any) -> Iterator[Sink]:
    """Healthy."""
    with Client(instance.ready["nameServer"]) as client:
        made = Sink(instance, client, "checked")
        made.send('"good"')
        made.until(lambda: made.lines() == ["good"])
        yield made


def source(sink: Sink) -> tuple[str, str]:
    """A source into the topic of the sink, and the id of the row that it could not read."""
    rows, dead = sink.instance.folder / "rows.csv", "rows-dead"
    rows.write_text("id,name\n1,a\n2,b,c\n")
    sink.client.create_topic(dead, queues=1)
    (queue,) = sink.client.queues(dead)
    config = {
        "connector.class": "file_source",
        "filename": str(rows),
        "format": "csv",
        "topic": sink.name,
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    sink.instance.api.request("POST", "/v1/connectors", body={"name": "rows", "config": config})
    sink.until(lambda: sink.client.max_offset(queue) == 1)
    return "rows", f"{queue.broker}:0:0"


def test_an_edit_that_the_sink_could_not_read_is_refused_and_nothing_is_stored(sink: Sink) -> None:
    (letter,) = sink.fail_at("? first")
    end = sink.client.max_offset(sink.dead_queue)
    code, out, err = sink.rc("dlq", "edit", sink.name, letter, "-f", "-", given="? second")
    assert (code, out) == (2, "")
    assert "can't become a record, sink 'checked' would fail at it (convert: RecordError: " in err
    assert "--unchecked" in err
    assert sink.client.max_offset(sink.dead_queue) == end
    assert sink.rc("dlq", "show", sink.name, letter, "--body")[1] == "? first"
    assert sink.rc("dlq", "edit", sink.name, letter, "--unchecked", "-f", "-", given="? second")[0] == 0
    assert sink.rc("dlq", "show", sink.name, letter, "--body")[1] == "? second"


def test_of_a_packed_message_the_bad_row_alone_is_edited_as_json_and_comes_back_once(instance: Any) -> None:
    with Client(instance.ready["nameServer"]) as client:
        sink = Sink(instance, client, "packed", {"value.converter": "arrow", **CAST})
        values = [{"id": "1", "name": "neighbour"}, {"id": "two", "name": "bad"}, {"id": "3", "name": "other"}]
        keys = pa.array([b"a", b"b", b"c"], pa.binary())
        rows = Rows(*array_of(values, parse_columns("id, name")), offsets_of([(1,), (2,), (3,)]), "u/p", keys)
        client.send_batch(sink.queue, encode_batch([rows.pack()]), 10)
        sink.until(lambda: len(sink.lines()) == 2 and len(sink.ids()) == 1)
        (letter,) = sink.ids()
        (row,) = sink.dlq("show", letter)["packed"]["rows"]
        assert (json.loads(row["value"]), row["key"]) == (values[1], "b")
        body = base64.b64decode(sink.dlq("show", letter)["body"])
        assert (b"bad" in body, b"neighbour" in body, b"other" in body) == (True, False, False)
        written = sink.rc("dlq", "show", sink.name, letter, "--rows")[1]
        code, _, err = sink.rc("dlq", "edit", sink.name, letter, "-f", "-", given=written.replace('"two"', "2"))
        assert (code, "rows: the column `id` is text, and a whole number is not" in err) == (2, True)
        code, _, err = sink.rc("dlq", "edit", sink.name, letter, "-f", "-", given=written.replace("two", "II"))
        assert (code, "can't become a record, sink 'packed' would fail at it" in err) == (2, True)
        assert sink.rc("dlq", "edit", sink.name, letter, "-f", "-", given=written.replace("two", "2"))[0] == 0
        assert sink.dlq("replay", letter)["sent"] == "1"
        sink.until(lambda: len(sink.lines()) == 3)
        assert [json.loads(line)["id"] for line in sink.lines()] == [1, 3, 2]


def test_a_corrected_line_of_a_source_of_packed_rows_comes_back_as_a_row(instance: Any) -> None:
    with Client(instance.ready["nameServer"]) as client:
        sink = Sink(instance, client, "typed", {"value.converter": "arrow"})
        client.create_topic("typed-bad", queues=1)
        (dead,) = client.queues("typed-bad")
        file = instance.folder / "typed.csv"
        file.write_text("id,day\n1,2024-02-28\ntwo,2024-02-29\n3,2024-03-01\n")
        config = {
            "connector.class": "file_source",
            "filename": str(file),
            "format": "csv",
            "columns": "id:int64,day:date",
            "topic": "typed",
            "value.converter": "arrow",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "typed-bad",
        }
        instance.api.request("POST", "/v1/connectors", body={"name": "typed-rows", "config": config})
        sink.until(lambda: client.max_offset(dead) == 1 and len(sink.lines()) == 2)
        letter = f"{dead.broker}:0:0"
        assert sink.rc("dlq", "show", "typed-rows", letter, "--body")[1] == "two,2024-02-29"
        code, _, err = sink.rc("dlq", "edit", "typed-rows", letter, "-f", "-", given="2,soon")
        assert (code, "source 'typed-rows' would fail at it as well (poll: InvalidCsv: the column `day` is" in err) == (2, True)
        assert sink.rc("dlq", "edit", "typed-rows", letter, "-f", "-", given="2,2024-02-29\n")[0] == 0
        assert sink.rc("dlq", "replay", "typed-rows", letter)[0] == 0
        sink.until(lambda: len(sink.lines()) == 3)
        assert [(row["id"], row["day"]) for row in map(json.loads, sink.lines())][2] == (2, "2024-02-29")


def test_a_dry_run_says_of_each_letter_what_would_become_of_it(sink: Sink) -> None:
    bad, mended = sink.fail_at("? still bad", "? mended")
    sink.edit(mended, '"mended"')
    end = sink.client.max_offset(sink.dead_queue)
    fails, record = sink.dlq("replay", bad, mended, "--dry-run")["outcomes"]
    assert (fails["id"], fails["outcome"], fails["reason"].partition(":")[0]) == (bad, "OUTCOME_FAILS", "convert")
    assert record == {"id": mended, "outcome": "OUTCOME_RECORD", "reason": ""}
    code, out, _ = sink.rc("dlq", "replay", sink.name, bad, mended, "--dry-run")
    told, _, first, second = out.splitlines()
    assert (code, told) == (0, f"would send 2 dead letters to {replay_topic(sink.uid)}")
    assert first.split()[:3] == [bad, "fail", "convert:"]
    assert second.split() == [mended, "become", "a", "record"]
    (elsewhere,) = sink.dlq("replay", bad, "--to", sink.dead, "--dry-run")["outcomes"]
    assert elsewhere["outcome"] == "OUTCOME_AS_IT_IS"
    assert sink.client.max_offset(sink.dead_queue) == end


def test_what_was_written_in_an_editor_is_kept_when_it_is_refused(
    sink: Sink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (letter,) = sink.fail_at("? typed")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "? much work" > "$1"\n')
    editor.chmod(0o755)
    env = {"EDITOR": str(editor), "VISUAL": ""}
    code, _, err = sink.rc("dlq", "edit", sink.name, letter, env=env)
    (kept,) = tmp_path.glob("dead-letter-*")
    assert (code, str(kept) in err, kept.read_text()) == (2, True, "? much work\n")


@pytest.mark.slow
def test_a_row_that_a_source_could_not_read_comes_back_only_in_the_form_of_its_topic_and_its_sink_stays_healthy(sink: Sink) -> None:
    name, letter = source(sink)
    before = len(sink.ids())
    sink.until(lambda: len(sink.lines()) == 2)
    code, _, err = sink.rc("dlq", "edit", name, letter, "--body", "-f", "-", given="2,b")
    assert (code, "the value converter of source 'rows' would fail at it" in err) == (2, True)
    would = sink.rc("dlq", "replay", name, "--all", "--dry-run")[1]
    assert "not be sent" in would
    assert "its source could make no message of it" in would
    code, _, err = sink.rc("dlq", "replay", name, letter)
    assert (code, "could make no message of it" in err) == (2, True)
    code, _, err = sink.rc("dlq", "edit", name, letter, "-f", "-", given="2,b,c,d")
    assert (code, "source 'rows' would fail at it as well (poll: InvalidCsv: the row has 4 fields" in err) == (2, True)
    assert sink.rc("dlq", "edit", name, letter, "-f", "-", given="2,b")[0] == 0
    assert sink.rc("dlq", "replay", name, letter)[0] == 0
    sink.until(lambda: len(sink.lines()) == 3)
    assert len(sink.ids()) == before
    assert not sink.client.max_offset(sink.client.queues(replay_topic(sink.uid))[0])
