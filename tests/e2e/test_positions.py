"""Positions moved by hand, through the command line, the real services, and the real broker: file -> topic -> file."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_cli.signed import AUTHOR_VARIABLE
from rocketconnect_cli.states import wait_for
from rocketmq_remoting import Client
from tests.rocketmq_admin import wait_for_progress
from tests.spoken import rc

pytestmark = pytest.mark.e2e


class Pipeline:
    """A file into a topic of one queue, and the topic into a file; both are stopped when there is nothing left to move."""

    def __init__(self, instance: Any, name: str) -> None:
        self.instance, self.source, self.sink = instance, f"{name}-in", f"{name}-out"
        self.file, self.target = instance.folder / f"{name}.txt", instance.folder / f"{name}-out.txt"
        self.queue = f"{name}/broker-0/0"
        self.file.write_text("")
        into = {"connector.class": "file_source", "topic": name, "topic.queues": "1", "filename": str(self.file)}
        out = {
            "connector.class": "file_lines",
            "engine": "native",
            "topics": name,
            "topic.queues": "1",
            "filename": str(self.target),
        }
        self.configs = {self.source: into, self.sink: out}
        for connector, config in self.configs.items():
            instance.api.request("POST", "/v1/connectors", body={"name": connector, "config": config})

    def rc(self, *words: str, author: str = "") -> tuple[int, str, str]:
        return rc(self.instance.url, *words, env={AUTHOR_VARIABLE: author})

    def write(self, *lines: str) -> None:
        """Append lines, and return when they have arrived."""
        seen = self.lines()
        with self.file.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.until(lambda: self.lines() == [*seen, *lines])

    def lines(self) -> list[str]:
        return self.target.read_text().splitlines() if self.target.exists() else []

    def until(self, condition: Callable[[], object], seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited {seconds} s: {self.lines()}"
            time.sleep(0.1)

    def stop(self, *names: str) -> None:
        for name in names:
            assert self.rc("connector", "stop", name)[0] == 0
            wait_for(self.instance.api, name, ("STOPPED",), 180)

    def resume(self, name: str) -> None:
        assert self.rc("connector", "resume", name)[0] == 0
        wait_for(self.instance.api, name, ("RUNNING", "IDLE"), 180)

    def positions(self, name: str) -> dict[str, str]:
        code, out, _ = self.rc("position", "get", name, "-o", "json")
        assert code == 0
        return {row["partition"]: row["offset"] for row in json.loads(out)["positions"]}

    def still(self, lines: list[str]) -> None:
        """These, and after a while still these: a late double would show."""
        self.until(lambda: len(self.lines()) >= len(lines))
        time.sleep(2)
        assert self.lines() == lines


@pytest.fixture(scope="module")
def pipeline(instance: Any) -> Pipeline:
    made = Pipeline(instance, "moved")
    made.write("one", "two", "three")
    return made


@pytest.mark.slow
def test_a_sink_set_back_to_a_time_delivers_exactly_what_was_stored_since(pipeline: Pipeline) -> None:
    seen = pipeline.lines()
    time.sleep(1.1)
    then = datetime.now(UTC).isoformat()
    time.sleep(1.1)
    pipeline.write("four", "five")
    pipeline.stop(pipeline.sink)
    end = len(seen) + 2
    code, out, err = pipeline.rc("position", "set", pipeline.sink, "--to-time", then)
    assert (code, err) == (0, "")
    assert out.split()[-3:] == [pipeline.queue, f"[{end}]", f"[{end - 2}]"]
    pipeline.resume(pipeline.sink)
    pipeline.still([*seen, "four", "five", "four", "five"])
    logs = pipeline.rc("connector", "logs", pipeline.sink)[1]
    assert f"position of {pipeline.queue}: [{end}] -> [{end - 2}]" in logs


@pytest.mark.slow
def test_a_sink_is_moved_by_so_many_messages_and_no_further_than_they_reach(pipeline: Pipeline) -> None:
    seen = pipeline.lines()
    end = int(json.loads(pipeline.positions(pipeline.sink)[pipeline.queue])[0])
    assert end >= 3
    code, out, err = pipeline.rc("position", "set", pipeline.sink, "--by", "-2", "--restart")
    assert (code, err) == (0, "")
    assert out.split()[-3:] == [pipeline.queue, f"[{end}]", f"[{end - 2}]"]
    pipeline.still([*seen, *seen[-2:]])
    code, out, err = pipeline.rc("position", "set", pipeline.sink, "--by", "1000", "--dry-run")
    assert (code, "nothing changes" in out, err) == (0, True, "")
    # What it passes is not delivered: of three more the last one alone.
    pipeline.stop(pipeline.sink)
    with pipeline.file.open("a") as file:
        file.write("bad\nbad\ngood\n")
    pipeline.until(lambda: "good" in pipeline.rc("topic", "peek", pipeline.queue.partition("/")[0], "-n", "1")[1])
    assert pipeline.rc("position", "set", pipeline.sink, "--by", "2")[0] == 0
    pipeline.resume(pipeline.sink)
    pipeline.still([*seen, *seen[-2:], "good"])


@pytest.mark.slow
def test_a_source_set_back_sends_exactly_what_is_behind_it_once_more(pipeline: Pipeline) -> None:
    seen, written = pipeline.lines(), pipeline.file.read_text()
    ((partition, offset),) = pipeline.positions(pipeline.source).items()
    begin = written.index("two")
    again = written[begin:].splitlines()
    code, out, err = pipeline.rc("position", "set", pipeline.source, f"{partition}={begin}", "--restart")
    assert (code, err) == (0, "")
    words = out.split()
    assert words[words.index(partition) :][:3] == [partition, offset, f"[{begin}]"]
    pipeline.still([*seen, *again])
    pipeline.write("six")
    pipeline.still([*seen, *again, "six"])


@pytest.mark.slow
def test_what_was_exported_is_put_back_exactly(pipeline: Pipeline) -> None:
    pipeline.stop(pipeline.sink)
    exported = pipeline.instance.folder / "exported.json"
    assert pipeline.rc("position", "export", pipeline.sink, "-f", str(exported))[0] == 0
    seen, before = pipeline.lines(), pipeline.positions(pipeline.sink)
    for words in (("reset", pipeline.sink), ("set", pipeline.sink, "--to-earliest")):
        assert pipeline.rc("position", *words)[0] == 0
        assert pipeline.positions(pipeline.sink) != before
    assert pipeline.rc("position", "import", pipeline.sink, "-f", str(exported))[0] == 0
    again = json.loads(pipeline.rc("position", "export", pipeline.sink)[1])
    document = json.loads(exported.read_text())
    assert {**again, "time": ""} == {**document, "time": ""}
    assert json.loads(document["positions"][0]["resume"])["marks"]
    pipeline.resume(pipeline.sink)
    pipeline.still(seen)
    pipeline.write("seven")
    pipeline.still([*seen, "seven"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("out", "moved/broker-0/7=0", "moved/broker-0/0=99999", "nosuch/broker-0/0=1"),
            ["is no queue", "is beyond the end", "is no queue"],
        ),
        (("out", "moved/broker-0/0=-1"), ["is below the beginning"]),
        (("out", "moved/broker-0/0=[1,2]"), ["is no offset of a queue"]),
        (("out", "moved/broker-0/0=x"), ["moved/broker-0/0: the offset is not a number"]),
        (("in", "nothing#1=0"), ["is no partition of"]),
        (("in", "PARTITION=2"), ["is in the middle of a line"]),
        (("in", "PARTITION=99999"), ["is beyond the end of the file"]),
        (("in", "--to-time", "2026-01-01T00:00:00Z"), ["can't tell the offset of a time"]),
    ],
)
def test_a_position_that_is_not_possible_is_refused_and_nothing_is_changed(
    pipeline: Pipeline, words: tuple[str, ...], told: list[str]
) -> None:
    name = {"in": pipeline.source, "out": pipeline.sink}[words[0]]
    before = pipeline.positions(name)
    given = [word.replace("PARTITION", next(iter(before))) for word in words[1:]]
    # It is running, so this is found before anything is stopped.
    code, out, err = pipeline.rc("position", "set", name, *given, "--restart")
    assert (code, out) == (2, "")
    position = 0
    for text in told:
        position = err.index(text, position) + 1
    assert pipeline.positions(name) == before
    assert pipeline.instance.api.request("GET", f"/v1/connectors/{name}")["connector"]["wantedState"] == "WANTED_STATE_RUNNING"


@pytest.mark.slow
def test_a_preview_of_running_connectors_moves_no_position(pipeline: Pipeline, tmp_path: Path) -> None:
    """Neither those of the service, nor the group's, nor what the topic and the file hold; and what comes then comes once."""
    pipeline.resume(pipeline.source)
    pipeline.resume(pipeline.sink)
    pipeline.write("before a preview")

    def exported() -> list[object]:
        return [json.loads(pipeline.rc("position", "export", name)[1])["positions"] for name in names]

    names = (pipeline.source, pipeline.sink)
    with Client(pipeline.instance.ready["nameServer"]) as client:
        (queue,) = client.queues(pipeline.queue.partition("/")[0])
        end = client.max_offset(queue)
        # Positions are stored a moment after the last line has arrived.
        size = pipeline.file.stat().st_size
        pipeline.until(lambda: json.loads(pipeline.positions(pipeline.sink)[pipeline.queue]) == [end])
        pipeline.until(lambda: [*pipeline.positions(pipeline.source).values()] == [f"[{size}]"])
        before, seen = exported(), pipeline.lines()
        for name in names:
            file = tmp_path / f"{name}.json"
            file.write_text(json.dumps(pipeline.configs[name]))
            code, out, err = pipeline.rc("preview", "-f", str(file), "-n", "2", "-o", "json")
            assert (code, err) == (0, "")
            assert len(json.loads(out)["records"]) == 2
        assert exported() == before
        assert client.max_offset(queue) == end
        wait_for_progress(
            rocketmq_jars(), pipeline.instance.ready["nameServer"], tmp_path, f"connect-{pipeline.sink}", queue, (end, end, 0)
        )
    pipeline.write("behind a preview")
    pipeline.still([*seen, "behind a preview"])


@pytest.mark.slow
def test_positions_of_a_running_connector_are_not_moved_but_a_dry_run_says_how_they_would(pipeline: Pipeline) -> None:
    before = pipeline.positions(pipeline.sink)
    code, _, err = pipeline.rc("position", "set", pipeline.sink, "--to-earliest")
    assert code == 2
    assert "is not wanted STOPPED" in err
    code, out, _ = pipeline.rc("position", "set", pipeline.sink, "--to-earliest", "--dry-run", "-o", "json")
    assert code == 0
    (change,) = json.loads(out)["changes"]
    assert change == {"partition": pipeline.queue, "fromOffset": before[pipeline.queue], "toOffset": "[0]"}
    assert pipeline.positions(pipeline.sink) == before


def test_a_reset_sink_begins_anew(pipeline: Pipeline) -> None:
    seen = pipeline.lines()
    # Its position may lag behind what it has written.
    with Client(pipeline.instance.ready["nameServer"]) as client:
        (queue,) = client.queues("moved")
        in_topic = client.max_offset(queue)
    assert pipeline.rc("position", "reset", pipeline.sink, "--restart")[0] == 0
    pipeline.until(lambda: len(pipeline.lines()) >= len(seen) + in_topic)
    time.sleep(2)
    assert len(pipeline.lines()) == len(seen) + in_topic


@pytest.mark.slow
def test_consumer_progress_shows_where_a_sink_was_set_to_though_nothing_is_read_there(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.stop(pipeline.sink)
    seen, name_server = pipeline.lines(), pipeline.instance.ready["nameServer"]
    with Client(name_server) as client:
        (queue,) = client.queues("moved")
        end = client.max_offset(queue) + 1
        with pipeline.file.open("a") as file:
            file.write("skipped\n")
        pipeline.until(lambda: client.max_offset(queue) == end)
    assert pipeline.rc("position", "set", pipeline.sink, "--to-latest")[0] == 0
    pipeline.resume(pipeline.sink)
    wait_for_progress(rocketmq_jars(), name_server, tmp_path, f"connect-{pipeline.sink}", queue, (end, end, 0))
    assert pipeline.lines() == seen


@pytest.mark.slow
def test_a_rollback_with_positions_delivers_again_what_came_since_and_says_who_did_it(pipeline: Pipeline) -> None:
    path = f"/v1/connectors/{pipeline.sink}"
    before = pipeline.instance.api.request("GET", path)["connector"]
    config = {**before["config"], "errors.log.enable": "false"}
    after = pipeline.instance.api.request("PUT", path, body={"config": config})["connector"]
    wait_for(pipeline.instance.api, pipeline.sink, ("RUNNING", "IDLE"), 90, revision=int(after["revision"]))
    seen = pipeline.lines()
    pipeline.write("since")
    words = ("connector", "rollback", pipeline.sink, before["revision"], "--with-positions")
    code, _, err = pipeline.rc(*words, author="ann")
    assert code == 0, err
    pipeline.still([*seen, "since", "since"])
    assert pipeline.instance.api.request("GET", path)["connector"]["config"] == before["config"]
    logs = pipeline.rc("connector", "logs", pipeline.sink)[1]
    # Who shows a token is who it is of, whatever it says.
    who = "alice" if pipeline.instance.is_guarded else "ann"
    assert f"positions restored to the end of revision {before['revision']} by {who}" in " ".join(logs.split())


def test_a_second_source_of_a_file_is_refused_and_one_under_another_name_goes_on_where_a_deleted_one_was(instance: Any) -> None:
    pipeline = Pipeline(instance, "twice")
    pipeline.write("one", "two")
    given = [word for key, value in pipeline.configs[pipeline.source].items() for word in ("-s", f"{key}={value}")]
    code, _, err = pipeline.rc("connector", "create", "twice-again", *given)
    assert code == 2
    assert "the connector 'twice-in' reads this into the topic twice already: each record would be there twice" in err

    uid = instance.api.request("DELETE", f"/v1/connectors/{pipeline.source}")["connector"]["uid"]
    code, _, err = pipeline.rc("connector", "create", "twice-again", *given, "--paused")
    assert code == 0
    assert f"the connector 'twice-in' (uid {uid}, deleted at " in err
    assert f"create this one with --adopt-uid {uid}" in err
    instance.api.request("DELETE", "/v1/connectors/twice-again")

    code, _, err = pipeline.rc("connector", "create", "twice-again", *given, "--adopt-uid", uid)
    assert (code, err) == (0, "")
    pipeline.write("three")
    assert pipeline.lines() == ["one", "two", "three"]

    instance.api.request("DELETE", "/v1/connectors/twice-again")
    pipeline.file.unlink()
    pipeline.file.write_text("four\n")
    code, _, err = pipeline.rc("connector", "create", "twice-new", *given)
    assert (code, err) == (0, ""), "another file is no work that was done"
    pipeline.until(lambda: pipeline.lines() == ["one", "two", "three", "four"])


def test_before_a_source_gets_another_format_it_is_told_what_is_read_anew(instance: Any) -> None:
    pipeline = Pipeline(instance, "reread")
    pipeline.write("id,name", "1,a")
    pipeline.until(lambda: any("12" in offset for offset in pipeline.positions(pipeline.source).values()))
    change = ["--set", "format=csv", "--set", "value.converter=json"]
    code, _, err = pipeline.rc("connector", "update", pipeline.source, *change)
    assert code == 0
    assert f"its records be sent again: 12 of the 12 bytes of {pipeline.file} (2 lines)" in err
    pipeline.until(lambda: len(pipeline.lines()) == 3)
