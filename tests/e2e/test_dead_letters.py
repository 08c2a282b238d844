"""`rocketconnect dlq ...` through the command line, the real services, and the real broker: topic -> file, and back again."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.states import wait_for
from rocketconnect_sdk.letters.dead_letters import replay_topic
from rocketmq_remoting import Client
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.protocol.properties import encode_properties
from tests.e2e.console import COMMAND
from tests.services.executor.configured import PLAIN
from tests.spoken import rc

pytestmark = pytest.mark.e2e


class Sink:
    """JSON texts of a topic of one queue, as lines of a file; what is no JSON becomes a dead letter."""

    def __init__(self, instance: Any, client: Client, name: str, reading: Mapping[str, str] = PLAIN) -> None:
        self.instance, self.client, self.name = instance, client, name
        self.target = instance.folder / f"{name}.txt"
        self.dead = f"{name}-dead"
        client.create_topic(name, queues=1)
        client.create_topic(self.dead, queues=1)
        (self.queue,) = client.queues(name)
        (self.dead_queue,) = client.queues(self.dead)
        self.config = {
            "connector.class": "file_lines",
            "engine": "native",
            "topics": name,
            "filename": str(self.target),
            **reading,
            "errors.tolerance": "all",
            "errors.log.enable": "false",
            "errors.deadletterqueue.topic.name": self.dead,
            "errors.deadletterqueue.write.queue.nums": "1",
            "errors.deadletterqueue.read.queue.nums": "1",
        }
        body = {"name": name, "config": self.config}
        self.uid = instance.api.request("POST", "/v1/connectors", body=body)["connector"]["uid"]

    def send(self, *bodies: str) -> None:
        for start in range(0, len(bodies), 1_000):
            self.client.send_batch(self.queue, encode_batch([body.encode() for body in bodies[start : start + 1_000]]), 10)

    def fail_at(self, *bodies: str) -> list[str]:
        """The ids of the dead letters that these become."""
        before = self.client.max_offset(self.dead_queue)
        self.send(*bodies)
        self.until(lambda: self.client.max_offset(self.dead_queue) == before + len(bodies))
        return [f"{self.dead_queue.broker}:0:{offset}" for offset in range(before, before + len(bodies))]

    def lines(self) -> list[str]:
        return self.target.read_text().splitlines() if self.target.exists() else []

    def until(self, condition: Callable[[], object], seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited {seconds} s: {self.lines()[-5:]}"
            time.sleep(0.05)

    def rc(self, *words: str, env: dict[str, str] | None = None, given: str = "") -> tuple[int, str, str]:
        return rc(self.instance.url, *words, env=env, given=given)

    def dlq(self, verb: str, *words: str) -> Any:
        """What it answers as JSON."""
        code, out, err = self.rc("dlq", verb, self.name, *words, "-o", "json")
        assert code == 0, err
        return json.loads(out)

    def ids(self, *words: str) -> list[str]:
        return [letter["id"] for letter in self.dlq("list", *words)["deadLetters"]]

    def ids_in_topic(self) -> int:
        """How many dead letters are in the topic, whoever asks."""
        begin, end = self.client.min_offset(self.dead_queue), self.client.max_offset(self.dead_queue)
        found = self.client.pull(self.dead_queue, begin, max_messages=end - begin)
        return sum(body.startswith(b"?") for body in found.batch.bodies)

    def edit(self, letter: str, body: str) -> None:
        file = self.instance.folder / "correction"
        file.write_text(body)
        assert self.rc("dlq", "edit", self.name, letter, "-f", str(file))[0] == 0

    def replays(self) -> list[str]:
        found = self.instance.api.pages("/v1/connectors", "connectors", {"name": ""})
        return [each["name"] for each in found if each["name"].startswith(f"{self.name}-replay-")]

    def refused(self, exit_code: int, told: str, *words: str) -> None:
        code, out, err = self.rc("dlq", *words)
        assert (code, out) == (exit_code, "")
        assert told in err
        assert not self.replays()


@pytest.fixture(scope="module")
def make(instance: Any) -> Any:
    with Client(instance.ready["nameServer"]) as client:
        yield lambda name: Sink(instance, client, name)


@pytest.fixture(scope="module")
def sink(make: Callable[[str], Sink]) -> Sink:
    """With three dead letters, and a line in its file."""
    made = make("letters")
    made.send('"good"')
    made.until(lambda: made.lines() == ["good"])
    made.fail_at("? one", "? two", "? three")
    return made


@pytest.mark.slow
def test_list_shows_what_the_filters_take_in_its_order_and_says_that_there_is_more(sink: Sink) -> None:
    first, second, third = sink.ids()
    for words in (
        ("--stage", "convert"),
        ("--task", "0"),
        ("--error", "RecordError"),
        ("--since", "1h"),
        ("--since", "2020-01-01T00:00:00Z"),
        ("--limit", "3"),
    ):
        assert sink.ids(*words) == [first, second, third]
    for words in (("--stage", "write"), ("--task", "7"), ("--error", "Other"), ("--since", "2100-01-01T00:00:00Z")):
        assert sink.ids(*words) == []
    cut = sink.dlq("list", "--limit", "2")
    assert ([letter["id"] for letter in cut["deadLetters"]], cut["more"]) == ([first, second], True)
    code, out, _ = sink.rc("dlq", "list", sink.name, "--limit", "2")
    assert code == 0
    assert "There are more" in out


def test_rest_gives_dead_letters_in_pages_and_one_by_its_id(sink: Sink) -> None:
    api, path = sink.instance.api, f"/v1/connectors/{sink.name}/deadLetters"
    found, token = [], ""
    for _ in range(4):
        page = api.request("GET", f"{path}?pageSize=1&pageToken={token}")
        found += [letter["id"] for letter in page["deadLetters"]]
        token = page["nextPageToken"]
    assert (found, token) == (sink.ids(), "")
    one = api.request("GET", f"{path}/{found[1].replace(':', '%3A')}")
    assert one["deadLetter"]["origin"].endswith(":2")
    assert one["deadLetter"]["stage"] == "STAGE_CONVERT"


def test_show_tells_the_message_and_why_and_gives_its_body_byte_by_byte(sink: Sink) -> None:
    first = sink.ids()[0]
    code, out, _ = sink.rc("dlq", "show", sink.name, first)
    assert code == 0
    assert "? one" in out
    assert "JSON is malformed" in out
    assert sink.rc("dlq", "show", sink.name, first, "--body") == (0, "? one", "")


@pytest.mark.slow
def test_a_dead_letter_is_edited_from_a_file_from_standard_input_and_in_an_editor(sink: Sink, tmp_path: Path) -> None:
    (letter,) = sink.fail_at("? draft")
    sink.edit(letter, '"from a file"')
    assert sink.rc("dlq", "show", sink.name, letter, "--body")[1] == '"from a file"'
    assert sink.rc("dlq", "edit", sink.name, letter, "-f", "-", given='"from a pipe"')[0] == 0
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/pipe/terminal/" "$1"\n')
    editor.chmod(0o755)
    assert sink.rc("dlq", "edit", sink.name, letter, env={"EDITOR": str(editor), "VISUAL": ""})[0] == 0
    assert sink.rc("dlq", "show", sink.name, letter, "--body")[1] == '"from a terminal"'
    code, _, err = sink.rc("dlq", "edit", sink.name, letter, env={"EDITOR": "true", "VISUAL": ""})
    assert (code, "nothing is stored" in err) == (2, True)
    code, _, err = sink.rc("dlq", "edit", sink.name, letter, env={"EDITOR": "false", "VISUAL": ""})
    assert (code, "nothing is stored" in err) == (1, True)
    assert sink.ids()[-1] == letter


def test_one_letter_is_replayed_and_confirmed_within_seconds_and_its_connector_is_gone(sink: Sink) -> None:
    (letter,) = sink.fail_at("? mend me")
    sink.edit(letter, '"mended"')
    before = sink.lines()
    would = sink.dlq("replay", letter, "--dry-run")
    assert (would["count"], would["topic"], would.get("replay", "")) == ("1", replay_topic(sink.uid), "")
    done = sink.dlq("replay", letter)
    assert done["done"]
    sink.until(lambda: sink.lines() == [*before, "mended"])
    assert not sink.replays()
    state = sink.instance.api.request("GET", f"/v1/connectors/{sink.name}/state")["state"]
    assert state["state"] in ("STATE_RUNNING", "STATE_IDLE")


@pytest.mark.slow
def test_all_leaves_out_what_was_replayed_before_and_again_sends_it_too(make: Callable[[str], Sink]) -> None:
    sink = make("once")
    mended, hopeless = sink.fail_at("? mended later", "? hopeless")
    assert [letter.get("replayedTime") for letter in sink.dlq("list")["deadLetters"]] == [None, None]
    sink.edit(mended, '"mended"')
    assert sink.dlq("replay", mended)["sent"] == "1"
    replayed, other = sink.dlq("list")["deadLetters"]
    assert (replayed["replayedTo"], other["replayedTo"]) == (replay_topic(sink.uid), "")
    assert replayed["replayedTime"]
    would = sink.dlq("replay", "--all", "--dry-run")
    assert (would["count"], would["replayed"]) == ("1", "1")
    code, out, _ = sink.rc("dlq", "replay", sink.name, "--all")
    said = f"sent 1 dead letter to {replay_topic(sink.uid)}; left out 1 that was replayed before (--again sends it, too)"
    told, _, back = out.splitlines()
    assert (code, told) == (0, f"{said}; it came back: once fails at it again")
    assert back.split()[:3] == [hopeless, sink.ids()[2], "RecordError"]
    # It has failed again: its successor is what is left.
    sink.until(lambda: len(sink.ids()) == 3)
    successor = sink.ids()[2]
    done = sink.dlq("replay", "--all")
    assert (done["count"], done["replayed"], done["sent"]) == ("1", "2", "1")
    sink.until(lambda: len(sink.ids()) == 4)
    would = sink.dlq("replay", "--all", "--again", "--dry-run")
    assert (would["count"], would["replayed"]) == ("4", "3")
    code, out, _ = sink.rc("dlq", "replay", sink.name, hopeless, successor, "--dry-run")
    assert "would send 2 dead letters" in out
    assert "2 of them were replayed before" in out
    sink.edit(mended, '"mended once more"')
    assert sink.dlq("replay", "--all", "--dry-run")["count"] == "2"
    sink.until(lambda: sink.lines() == ["mended"])


def test_letters_that_are_given_up_are_asked_about_no_more_stay_where_they_are_and_are_sent_by_their_ids(
    make: Callable[[str], Sink],
) -> None:
    sink = make("given-up")
    first, second, third = sink.fail_at("? one", "? two", "? three")
    count = f"/v1/connectors/{sink.name}/deadLetters:count"
    said = sink.instance.api.request("GET", count)
    assert said["unreplayed"] == "3"
    assert said["oldestTime"] == min(letter["storeTime"] for letter in sink.dlq("list")["deadLetters"])
    assert sink.rc("dlq", "discard", sink.name, first)[0] == 2
    who = {"ROCKETCONNECT_AUTHOR": "alice"}
    code, out, _ = sink.rc("dlq", "discard", sink.name, first, "--yes", env=who)
    assert (code, out) == (0, f"1 dead letter discarded; they stay in {sink.dead} until RocketMQ removes them\n")
    assert sink.instance.api.request("GET", count)["unreplayed"] == "2"
    assert [bool(letter.get("discardedTime")) for letter in sink.dlq("list")["deadLetters"]] == [True, False, False]
    would = sink.dlq("replay", "--all", "--dry-run")
    assert (would["count"], would["replayed"], would["discarded"]) == ("2", "0", "1")
    # Those that were given up before are left as they are.
    assert sink.dlq("discard", first, second, "--yes")["count"] == "1"
    assert sink.dlq("discard", "--all", "--yes")["count"] == "1"
    sink.edit(third, '"mended"')
    assert sink.instance.api.request("GET", count)["unreplayed"] == "1"
    assert sink.dlq("replay", third)["sent"] == "1"
    assert "dead-letter service: 1 dead letter discarded by alice: " + first in sink.rc("connector", "logs", sink.name)[1]
    sink.until(lambda: sink.lines() == ["mended"])
    # Nothing is left to be asked about.
    code, _, err = sink.rc("connector", "delete", sink.name)
    assert (code, err) == (0, "")
    assert sink.ids_in_topic() == 3


@pytest.mark.slow
def test_if_newer_says_what_was_sent_and_what_was_not(make: Callable[[str], Sink]) -> None:
    sink = make("newer")
    bodies = [b"? old", b"? alone", b'"new"']
    keyed = [encode_properties({"KEYS": key}) for key in ("a", "b", "a")]
    sink.client.send_batch(sink.queue, encode_batch(bodies, keyed), 10)
    sink.until(lambda: sink.lines() == ["new"])
    old, alone = sink.ids()
    sink.edit(alone, '"alone"')
    code, out, _ = sink.rc("dlq", "replay", sink.name, "--all", "--if-newer", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, f"would send up to 2 dead letters to {replay_topic(sink.uid)}")
    code, out, _ = sink.rc("dlq", "replay", sink.name, "--all", "--if-newer")
    said = f"sent 1 dead letter to {replay_topic(sink.uid)}, left out 1 (a newer record of its key): {old}"
    assert (code, out) == (0, f"{said}; newer took it\n")
    done = sink.dlq("replay", "--all", "--if-newer")
    assert (done["sent"], done["leftOut"], done["leftOutIds"], done["replayed"]) == ("0", "1", [old], "1")
    replayed = {letter["id"]: letter["replayedTo"] for letter in sink.dlq("list")["deadLetters"]}
    assert (replayed[old], replayed[alone]) == ("", replay_topic(sink.uid))


@pytest.mark.slow
def test_the_log_of_the_connector_says_who_edited_and_who_replayed(sink: Sink) -> None:
    (letter,) = sink.fail_at("? whose")
    who = {"ROCKETCONNECT_AUTHOR": "alice"}
    assert sink.rc("dlq", "edit", sink.name, letter, "--unchecked", "-f", "-", given="? still", env=who)[0] == 0
    code, out, _ = sink.rc(
        "dlq", "replay", sink.name, letter, "--to", "whose", "--create-topic", "--no-wait", "-o", "json", env=who
    )
    assert code == 0
    replay = json.loads(out)["replay"]
    logged = sink.rc("connector", "logs", sink.name)[1]
    assert f"dead-letter service: dead letter {letter} edited by alice" in logged
    assert f"dead-letter service: replay of 1 dead letter to whose by alice: {replay}" in logged
    assert sink.dlq("replay", "--continue", replay)["sent"] == "1"
    sink.client.barrier(sink.queue.broker)
    assert sum(map(sink.client.max_offset, sink.client.queues("whose"))) == 1


@pytest.mark.slow
def test_a_replay_that_nobody_waits_for_removes_itself_and_says_later_what_it_has_done(sink: Sink) -> None:
    (letter,) = sink.fail_at("? later")
    sink.edit(letter, '"later"')
    before = sink.lines()
    begun = sink.dlq("replay", letter, "--no-wait")
    sink.until(lambda: sink.lines() == [*before, "later"])
    sink.until(lambda: not sink.replays())
    done = sink.dlq("replay", "--continue", begun["replay"])
    assert (done["done"], done["sent"]) == (True, "1")
    (last, *_) = sink.instance.api.request("GET", f"/v1/connectors/{begun['replay']}/changes")["changes"]
    assert (last["action"], last["reason"]) == ("ACTION_DELETE", "the replay is done")


@pytest.mark.slow
def test_a_replay_that_somebody_deletes_is_not_done(sink: Sink) -> None:
    (letter,) = sink.fail_at("? deleted")
    begun = sink.dlq("replay", letter, "--no-wait")["replay"]
    sink.instance.api.request("POST", f"/v1/connectors/{begun}:pause", body={})
    sink.instance.api.request("DELETE", f"/v1/connectors/{begun}")
    sink.refused(3, "somebody has deleted it", "replay", sink.name, "--continue", begun)
    sink.refused(3, "somebody has deleted it", "replay", sink.name, "--continue", "nothing")


@pytest.mark.slow
def test_a_replay_that_can_not_go_on_says_how_it_is_ended_or_waited_for_again(sink: Sink) -> None:
    api = sink.instance.api
    stuck = {"topic": "stuck-nowhere", "topic.auto.create": "false"}
    for number in count():
        (letter,) = sink.fail_at(f"? stuck {number}")
        begun = sink.dlq("replay", letter, "--to", "stuck", "--create-topic", "--no-wait")["replay"]
        path = f"/v1/connectors/{begun}"
        try:
            api.request("POST", f"{path}:pause", body={})
            api.request("PUT", path, body={"config": {**api.request("GET", path)["connector"]["config"], **stuck}})
            api.request("POST", f"{path}:resume", body={})
            code, _, err = sink.rc("dlq", "replay", sink.name, "--continue", begun)
            api.request("DELETE", path)
        except ApiError as error:
            # It was done before it was paused, and is gone.
            if error.exit_code is not Exit.NOT_FOUND:
                raise
            continue
        break
    assert (code, "the replay can't go on" in err) == (1, True)
    assert err.strip().endswith(f"`rocketconnect dlq replay {sink.name} --continue {begun}`")


@pytest.mark.slow
def test_ctrl_c_leaves_the_replay_running_and_says_how_to_go_on(sink: Sink) -> None:
    (letter,) = sink.fail_at("? interrupted")
    sink.edit(letter, '"interrupted"')
    before = sink.lines()
    command = [COMMAND, "dlq", "replay", sink.name, letter, "--url", sink.instance.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        sink.until(sink.replays)
        (replay,) = sink.replays()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (6, "")
    words = " ".join(err.split())
    assert f"rocketconnect dlq replay {sink.name} --continue {replay}" in words
    assert f"rocketconnect connector delete {replay}" in words
    assert sink.dlq("replay", "--continue", replay)["done"]
    sink.until(lambda: sink.lines() == [*before, "interrupted"])


@pytest.mark.slow
def test_to_sends_letters_to_the_topic_that_is_named_instead_and_the_connector_gets_none(sink: Sink) -> None:
    sink.client.create_topic("elsewhere", queues=1)
    (there,) = sink.client.queues("elsewhere")
    before = sink.lines()
    ids = sink.ids()[:3]
    done = sink.dlq("replay", f"{ids[0]}-{ids[2].rpartition(':')[2]}", "--to", "elsewhere")
    assert (done["topic"], done["count"]) == ("elsewhere", "3")
    sink.client.barrier(there.broker)
    assert [message.body for message in sink.client.pull(there, 0).messages] == [b"? one", b"? two", b"? three"]
    assert sink.lines() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exit_code", "told", "words"),
    [
        (2, "give ids, or --all.", ("replay", "NAME")),
        (2, "give ids, or --all, not both", ("replay", "NAME", "LETTER", "--all")),
        (2, "the last of {queue} is {last} (given: '{beyond}')", ("replay", "NAME", "BEYOND")),
        (2, "the last of {queue} is {last} (given: '{letter}-9999')", ("replay", "NAME", "LETTER-9999")),
        (2, "'nowhere' does not exist", ("replay", "NAME", "LETTER", "--to", "nowhere")),
        (2, "--create-topic", ("replay", "NAME", "LETTER", "--to", "nowhere", "--dry-run")),
        (2, "take ids as", ("replay", "NAME", "nonsense")),
        (3, "there is no dead letter", ("show", "NAME", "BEYOND")),
        (2, "is a range", ("show", "NAME", "RANGE")),
        (2, "is no stage", ("list", "NAME", "--stage", "cook")),
        (2, "is no time", ("list", "NAME", "--since", "yesterday")),
        (2, "can't be read", ("edit", "NAME", "LETTER", "--file", "/nowhere")),
        (3, "nobody", ("list", "nobody")),
    ],
)
def test_what_is_not_possible_is_refused_and_nothing_is_begun(sink: Sink, exit_code: int, told: str, words: Sequence[str]) -> None:
    letter = sink.ids()[0]
    end = sink.client.max_offset(sink.dead_queue)
    broker, number, _ = letter.split(":")
    beyond, queue = f"{broker}:{number}:{end + 1000}", f"{broker}:{number}"
    meant = {"NAME": sink.name, "LETTER": letter, "BEYOND": beyond, "RANGE": f"{letter}-1", "LETTER-9999": f"{letter}-9999"}
    told = told.format(queue=queue, last=end - 1, beyond=beyond, letter=letter)
    sink.refused(exit_code, told, *[meant.get(word, word) for word in words])
    assert sink.client.max_offset(sink.dead_queue) == end


@pytest.mark.slow
def test_letters_arrive_once_and_in_order_when_the_executor_is_killed_in_the_middle_of_their_replay(
    make: Callable[[str], Sink],
) -> None:
    sink = make("killed")
    api = sink.instance.api
    count = 4_000
    bodies = [f"? {number}" for number in range(count)]
    sink.fail_at(*bodies)
    # The letters were right, and the connector was wrong.
    right = {key: value for key, value in sink.config.items() if key != "value.converter.schemas.enable"}
    api.request("PUT", f"/v1/connectors/{sink.name}", body={"config": {**right, "value.converter": "string"}})
    wait_for(api, sink.name, ("RUNNING", "IDLE"), 60, revision=2)
    replay = api.request("POST", f"/v1/connectors/{sink.name}/deadLetters:replay", body={"all": True})["replay"]
    path = f"/v1/connectors/{replay}"
    # Before its task has started: at full speed all would be sent before anybody can kill anything.
    api.request("POST", f"{path}:pause", body={})
    slow = {**api.request("GET", path)["connector"]["config"], "max.rate.records": "400", "batch.records": "100"}
    api.request("PUT", path, body={"config": slow})
    api.request("POST", f"{path}:resume", body={})
    sink.until(lambda: sink.client.topic_exists(replay_topic(sink.uid)))
    (queue,) = sink.client.queues(replay_topic(sink.uid))
    # Not what has arrived: a sink that is late would be the end of the middle.
    sink.until(lambda: sink.client.max_offset(queue) >= 500)
    assigned = [each for each in api.pages("/v1/assignments", "assignments", {}) if each["connector"] == replay]
    (holder,) = [each["workerId"] for each in assigned if each["unit"] == "UNIT_TASK"]
    os.kill(sink.instance.ready["pids"][holder.replace("worker", "executor")], signal.SIGKILL)
    assert 0 < sink.client.max_offset(queue) < count, "it was killed in the middle"
    assert sink.dlq("replay", "--continue", replay)["done"]
    sink.until(lambda: len(sink.lines()) >= count)
    time.sleep(2)
    assert sink.lines() == bodies
