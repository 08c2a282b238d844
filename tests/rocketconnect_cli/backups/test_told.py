"""What is told of connectors before a backup is restored."""

import json
from typing import Any

import pytest

from rocketconnect_cli.backups import told


def connector(name: str, kind: str, wanted: str = "RUNNING", **config: str) -> dict[str, Any]:
    options = {key.replace("__", "."): value for key, value in config.items()}
    row = {"uid": f"uid-{name}", "name": name, "type": kind, "config": json.dumps(options), "wanted_state": wanted}
    return {**row, "delete_time": None}


def position(name: str, partition: str, offset: int) -> dict[str, Any]:
    return {"connector_uid": f"uid-{name}", "partition": partition, "offset": f"[{offset}]"}


WORKERS = [
    {
        "plugins": json.dumps({name: json.dumps({"guarantee": what}) for name, what in plugins.items()}),
        "aliases": json.dumps({"org.Exact": "exact"}),
        "update_time": time,
    }
    for time, plugins in (
        (2, {"exact": "EXACTLY_ONCE", "same": "IDEMPOTENT", "again": "AT_LEAST_ONCE", "bulk": "CONFIGURED"}),
        (1, {"same": "AT_LEAST_ONCE"}),
    )
]


@pytest.mark.parametrize(
    ("kind", "config", "doubles", "text"),
    [
        ("SINK", {"connector__class": "exact"}, False, "nothing is written twice"),
        ("SINK", {"connector__class": "org.Exact"}, False, "nothing is written twice"),
        (
            "SINK",
            {"connector__class": "exact", "delivery": "at_least_once"},
            True,
            "what it has written since (30 messages) is there twice",
        ),
        ("SINK", {"connector__class": "same"}, False, "what it has written since (30 messages) is written over with the same"),
        (
            "SINK",
            {"connector__class": "again"},
            True,
            "goes on at t/b/0 [10]; what it has written since (30 messages) is there twice",
        ),
        ("SINK", {"connector__class": "gone"}, True, "is not known, so count on this: it goes on at t/b/0 [10]"),
        ("SOURCE", {"connector__class": "exact"}, True, "is not sent again where its topic tells of it, else sinks drop it"),
        ("SOURCE", {"connector__class": "bulk"}, True, "is read again, and may be sent again"),
        ("DIRECT", {"connector__class": "direct", "sink__connector__class": "exact"}, False, "nothing is written twice"),
        ("DIRECT", {"connector__class": "direct", "sink__connector__class": "again"}, True, "is there twice"),
    ],
)
def test_each_kind_of_connector_is_told_of_in_its_words(kind: str, config: dict[str, str], doubles: bool, text: str) -> None:
    row = connector("c", kind, **config)
    then = {"config_connectors": [row], "config_workers": WORKERS, "position_positions": [position("c", "t/b/0", 10)]}
    now = {"config_connectors": [row], "position_positions": [position("c", "t/b/0", 40), position("c", "~queues", 7)]}
    (fate,) = told.fates(then, now)
    assert (fate.doubles, text in fate.text) == (doubles, True), fate.text


def test_into_an_empty_place_only_where_each_goes_on_is_known() -> None:
    then = {
        "config_connectors": [connector("c", "SINK", connector__class="again")],
        "config_workers": WORKERS,
        "position_positions": [position("c", f"t/b/{queue}", queue) for queue in range(5)],
    }
    (fate,) = told.fates(then, {})
    assert "goes on at t/b/0 [0], t/b/1 [1], t/b/2 [2] and 2 others; what it has written since is there twice" in fate.text


def test_what_comes_back_and_what_goes_is_told() -> None:
    then = {"config_connectors": [connector("back", "SINK", "STOPPED", connector__class="exact")], "config_workers": WORKERS}
    now = {"config_connectors": [connector("new", "SOURCE", connector__class="exact")]}
    back, new = told.fates({**then, "position_positions": []}, now)
    assert back.text.startswith("it was deleted since, and is there again; it is STOPPED, so nothing before it is resumed")
    assert "it was created since, and will be gone" in new.text
    (stays,) = told.fates(then, {"config_connectors": then["config_connectors"]})
    assert "its positions stay as they are" in stays.text


def test_positions_alone_are_told_of_by_the_configurations_that_stay() -> None:
    row = connector("c", "SINK", connector__class="again")
    then = {"config_workers": WORKERS, "position_positions": []}
    (fate,) = told.fates(then, {"config_connectors": [row], "position_positions": [position("c", "t/b/0", 40)]})
    assert "it has no position in the backup, so it reads all; what it has written since (40 messages) is there twice" in fate.text
