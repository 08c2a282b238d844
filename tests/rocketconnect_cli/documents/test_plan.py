"""What an apply would do, from what there is and what the files want."""

from typing import Any

from rocketconnect_cli.documents.difference import KeyChange, difference
from rocketconnect_cli.documents.plan import Action, plan
from rocketconnect_cli.documents.reading import Document

A = {"connector.class": "file_source", "path": "/a"}
B = {"connector.class": "file_source", "path": "/b", "more": "1"}


def document(name: str, config: dict[str, str], wanted: str = "") -> Document:
    return Document(name, config, wanted, f"{name}.yaml:1")


def stored(name: str, apply_set: str = "") -> dict[str, Any]:
    return {"name": name, "uid": f"u{name}", "config": A, "wantedState": "WANTED_STATE_RUNNING", "applySet": apply_set, "etag": "1"}


def test_what_is_as_wanted_is_left_and_the_rest_is_changed_key_by_key() -> None:
    wanted = [document("new", A), document("same", A, "RUNNING"), document("other", B), document("state", A, "PAUSED")]
    steps, problems = plan(wanted, [stored("same"), stored("other"), stored("state"), stored("hand-made")], "", prune=True)
    assert problems == []
    assert [(step.action, step.name, step.wanted_state) for step in steps] == [
        (Action.CREATE, "new", ""),
        (Action.UNCHANGED, "same", ""),
        (Action.UPDATE, "other", ""),
        (Action.UPDATE, "state", "PAUSED"),
    ]
    assert steps[2].changes == [KeyChange("more", None, "1"), KeyChange("path", "/a", "/b")]
    assert steps[2].lines() == ["~ update other (from other.yaml:1)", "    + more = 1", "    - path = /a", "    + path = /b"]


def test_a_configuration_of_rocketmq_connect_is_unchanged_when_what_became_of_it_is_stored() -> None:
    name = "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector"
    theirs = {"connector.class": name, "redisAddr": "cache", "redisPort": "6379"}
    ours = {"connector.class": "redis_replication_source", "url": "redis://cache:6379", "snapshot.mode": "initial"}
    steps, _ = plan([document("a", theirs), document("b", theirs)], [{**stored("a"), "config": ours}, stored("b")], "", prune=False)
    assert [step.action for step in steps] == [Action.UNCHANGED, Action.UPDATE]
    assert steps[1].config == theirs, "who stores it says what becomes of it"


def test_pruned_is_only_what_an_apply_of_the_same_set_created() -> None:
    there = [stored("kept", "mine"), stored("gone", "mine"), stored("theirs", "other"), stored("by-hand")]
    steps, _ = plan([document("kept", A)], there, "mine", prune=True)
    assert [(step.action, step.name) for step in steps] == [(Action.UNCHANGED, "kept"), (Action.DELETE, "gone")]
    steps, _ = plan([document("kept", A)], there, "mine", prune=False)
    assert [step.action for step in steps] == [Action.UNCHANGED]


def test_a_connector_of_another_set_is_refused_and_one_made_by_hand_is_not() -> None:
    wanted = [document("theirs", A), document("by-hand", B)]
    _, problems = plan(wanted, [stored("theirs", "other"), stored("by-hand")], "mine", prune=False)
    (problem,) = problems
    assert (problem["key"], problem["reason"]) == ("theirs.yaml:1: theirs", "belongs to the set 'other'")


def test_differences_name_what_came_went_and_changed() -> None:
    found = difference({"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": " x"})
    assert [str(each) for each in found] == ["-a", "b", "+d"]
    assert [line for each in found for line in each.lines()] == ["- a = 1", "- b = 1", "+ b = 2", "+ d = ' x'"]
