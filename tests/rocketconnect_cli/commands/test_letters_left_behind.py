"""Another topic for dead letters is told of while letters wait in the one before: nobody would see them any more."""

import json
from typing import Any

import pytest

from tests.rocketconnect_cli.conftest import run

COUNT = "/v1/connectors/a/deadLetters:count"
DEAD = "errors.deadletterqueue.topic.name"
CONFIG = {"connector.class": "file_sink", "topics": "t", DEAD: "dead"}
THERE = {
    "config": CONFIG,
    "applySet": "",
    "name": "a",
    "uid": "u",
    "revision": "1",
    "wantedState": "WANTED_STATE_RUNNING",
    "etag": "5",
}


def with_letters(rest: Any, count: int) -> Any:
    rest.bodies[COUNT] = json.dumps({"unreplayed": str(count), "topic": "dead", "complete": True}).encode()
    return rest


@pytest.mark.parametrize("words", [("-s", f"{DEAD}=others"), ("--unset", DEAD), ("-s", "connector.class=file_sink", "-f")])
def test_another_topic_for_dead_letters_is_warned_of_while_letters_wait_in_the_one_before(
    rest_factory: Any, tmp_path: Any, words: tuple[str, ...]
) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"connector.class": "file_sink", DEAD: "others"}))
    rest = rest_factory(200, {"connector": THERE})
    said = run(with_letters(rest, 2).url, "connector", "update", "a", *words, *([str(file)] if words[-1] == "-f" else []))
    assert (said.exit_code, rest.asked) == (0, ["GET /v1/connectors/a", f"GET {COUNT}", "PUT /v1/connectors/a"])
    told = " ".join(said.stderr.split())
    assert f"Warning: {DEAD}: 2 dead letters of a that nobody has replayed stay in dead, where `rocketconnect dlq` does not" in told
    assert "`rocketconnect topic peek dead --properties` lists what is there" in told


@pytest.mark.parametrize(("words", "count"), [(("-s", f"{DEAD}=others"), 0), (("-s", "topics=t"), 2), (("-s", f"{DEAD}=dead"), 2)])
def test_no_letters_or_the_same_topic_for_them_is_not_warned_of(rest_factory: Any, words: tuple[str, ...], count: int) -> None:
    rest = rest_factory(200, {"connector": THERE})
    said = run(with_letters(rest, count).url, "connector", "update", "a", *words)
    assert (said.exit_code, said.stderr) == (0, "")


def test_an_apply_that_names_another_topic_for_dead_letters_warns_of_those_that_wait(rest_factory: Any, tmp_path: Any) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"name": "a", "config": {**CONFIG, DEAD: "others"}}))
    rest = with_letters(rest_factory(200, {"problems": []}), 1)
    rest.bodies["/v1/connectors"] = json.dumps({"connectors": [THERE], "nextPageToken": ""}).encode()
    said = run(rest.url, "apply", "-f", str(file), "--dry-run")
    assert said.exit_code == 0, said.stderr
    told = " ".join(said.stderr.split())
    assert "1 dead letter of a that nobody has replayed stays in dead, where `rocketconnect dlq` does not look any more" in told
    refused = run(rest.url, "apply", "-f", str(file), "--strict")
    assert refused.exit_code == 2
    assert "1 dead letter of a" in " ".join(refused.stderr.split())
