"""`rocketconnect apply` and the history, with the real gateway, config, position, state and cluster services."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.record.v1 import record_pb2
from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.root import app
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings

Real = tuple[httpx.AsyncClient, Any]


@pytest.fixture(autouse=True)
def author(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_AUTHOR", "alice")


async def run(rest: httpx.AsyncClient, *words: str) -> Result:
    result = await asyncio.to_thread(CliRunner().invoke, app, [*words, "--url", str(rest.base_url)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def answered(result: Result) -> Any:
    """What was printed last: the gateway of this process logs on standard output, too."""
    return json.loads(result.stdout.splitlines()[-1])


async def changes(rest: httpx.AsyncClient, name: str) -> list[str]:
    found = (await rest.get(f"/v1/connectors/{name}/changes")).json()["changes"]
    return [change["action"].removeprefix("ACTION_") for change in found]


def source(name: str, filename: str = "/in", more: str = "") -> str:
    options = f"connector.class: file_source\n  filename: {filename}\n  connect.topicname: t"
    return f"name: {name}\nconfig:\n  {options}\n{more}"


@pytest.mark.slow
async def test_files_are_applied_once_changed_where_they_changed_and_pruned_in_their_set_alone(real: Real, tmp_path: Path) -> None:
    rest, _worker = real
    by_hand = {"connector.class": "file_source", "filename": "/h", "connect.topicname": "t"}
    assert (await rest.post("/v1/connectors", json={"name": "by-hand", "config": by_hand})).status_code == 200
    (tmp_path / "both.yaml").write_text(source("one") + "---\n" + source("two", more="wanted_state: PAUSED\n"))
    apply = ("apply", "-f", str(tmp_path), "--set", "team", "--prune")

    dry = await run(rest, *apply, "--dry-run", "--exit-code")
    assert dry.exit_code == 7
    assert "+ create one" in dry.stdout
    assert "Plan: 2 to create, 0 to update, 0 to delete, 0 unchanged." in dry.stdout
    assert (await rest.get("/v1/connectors/one")).status_code == 404

    assert (await run(rest, *apply, "--wait", "-m", "first")).exit_code == 0
    for name, wanted in (("one", "RUNNING"), ("two", "PAUSED")):
        made = (await rest.get(f"/v1/connectors/{name}")).json()["connector"]
        assert (made["wantedState"], made["revision"], made["applySet"]) == (f"WANTED_STATE_{wanted}", "1", "team")

    again = await run(rest, *apply)
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "Plan: 0 to create, 0 to update, 0 to delete, 2 unchanged.")
    assert (await run(rest, *apply, "--dry-run", "--exit-code")).exit_code == 0
    assert [await changes(rest, name) for name in ("one", "two")] == [["CREATE"], ["CREATE"]]

    (tmp_path / "both.yaml").write_text(source("one", "/other"))
    changed = await run(rest, *apply, "-m", "second")
    assert changed.exit_code == 0
    assert "    - filename = /in\n    + filename = /other\n" in changed.stdout
    assert "- delete two" in changed.stdout
    assert (await changes(rest, "one"), await changes(rest, "two")) == (["UPDATE", "CREATE"], ["DELETE", "CREATE"])
    assert (await changes(rest, "by-hand")) == ["CREATE"]
    last = (await rest.get("/v1/connectors/one/changes")).json()["changes"][0]
    assert (last["author"], last["reason"], last["revision"]) == ("alice", "second", "2")


async def test_all_problems_of_all_files_are_told_at_once_and_nothing_is_changed(real: Real, tmp_path: Path) -> None:
    rest, _worker = real
    (tmp_path / "a.yaml").write_text(source("good") + "---\n" + source("bad", more="  max.tasks: many\n"))
    (tmp_path / "b.yaml").write_text("name: c\nconfig: {x: [")
    (tmp_path / "c.yaml").write_text(source("good"))
    (tmp_path / "d.yaml").write_text("name: other\nconfig: {connector.class: no_such_plugin}\n")
    result = await run(rest, "apply", "-f", str(tmp_path), "-o", "json")
    assert result.exit_code == 2
    told = {(problem["key"], problem["reason"].split(";")[0]) for problem in answered(result)["error"]["problems"]}
    assert (f"{tmp_path}/c.yaml:1", "is a second connector of the name 'good'") in told
    assert {key for key, _reason in told} >= {
        f"{tmp_path}/a.yaml:7: bad: max.tasks",
        f"{tmp_path}/b.yaml:2:14",
        f"{tmp_path}/c.yaml:1",
        f"{tmp_path}/d.yaml:1: other: connector.class",
    }
    assert (await rest.get("/v1/connectors")).json()["connectors"] == []


async def test_what_is_warned_of_is_refused_where_that_is_wanted(real: Real, tmp_path: Path) -> None:
    rest, _worker = real
    (tmp_path / "a.yaml").write_text(source("one", more="  errors.tolerance: all\n"))
    apply = ("apply", "-f", str(tmp_path))
    warned = await run(rest, *apply, "--dry-run")
    assert (warned.exit_code, "Warning: " in warned.stderr) == (0, True)
    refused = await run(rest, *apply, "--strict", "-o", "json")
    assert refused.exit_code == 2
    assert [each["key"] for each in answered(refused)["error"]["problems"]] == [f"{tmp_path}/a.yaml:1: one: errors.tolerance"]
    assert (await rest.get("/v1/connectors")).json()["connectors"] == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--prune",), ("--exit-code",)])
async def test_flags_that_need_another_are_refused(real: Real, tmp_path: Path, words: tuple[str, ...]) -> None:
    rest, _worker = real
    (tmp_path / "a.yaml").write_text(source("one"))
    assert (await run(rest, "apply", "-f", str(tmp_path), *words)).exit_code == 2
    assert (await rest.get("/v1/connectors")).json()["connectors"] == []


@pytest.mark.slow
async def test_an_empty_folder_prunes_nothing(real: Real, tmp_path: Path) -> None:
    rest, _worker = real
    (tmp_path / "a.yaml").write_text(source("one"))
    apply = ("apply", "-f", str(tmp_path), "--set", "team", "--prune")
    assert (await run(rest, *apply)).exit_code == 0
    (tmp_path / "a.yaml").unlink()
    refused = await run(rest, *apply)
    assert refused.exit_code == 2
    assert "holds no connector files" in refused.stderr
    assert (await changes(rest, "one")) == ["CREATE"]


@pytest.mark.slow
async def test_a_stale_etag_names_who_was_faster_and_changes_nothing(real: Real, tmp_path: Path) -> None:
    rest, _worker = real
    (tmp_path / "a.yaml").write_text(source("one"))
    assert (await run(rest, "apply", "-f", str(tmp_path))).exit_code == 0
    etag = (await rest.get("/v1/connectors/one")).json()["connector"]["etag"]
    headers = {"X-RocketConnect-Author": "bob", "X-RocketConnect-Reason": "maintenance"}
    assert (await rest.post("/v1/connectors/one:pause", headers=headers)).status_code == 200
    for verb in ("pause", "resume", "stop", "restart", "delete"):
        refused = await run(rest, "connector", verb, "one", "--etag", etag)
        assert refused.exit_code == 4
        assert "it was paused by bob at 20" in refused.stderr
        assert "(maintenance)" in refused.stderr
    assert await changes(rest, "one") == ["PAUSE", "CREATE"]
    history = await run(rest, "connector", "history", "one")
    assert [line.split()[2:5] for line in history.stdout.splitlines()[1:]] == [["bob", "pause", "1"], ["alice", "create", "1"]]


@pytest.mark.slow
async def test_a_rollback_with_positions_goes_on_where_the_revision_had_ended(real: Real, tmp_path: Path) -> None:
    rest, worker = real
    file = tmp_path / "a.yaml"
    file.write_text(source("one", "/1"))
    assert (await run(rest, "apply", "-f", str(file), "--wait")).exit_code == 0
    uid = (await rest.get("/v1/connectors/one")).json()["connector"]["uid"]

    async with channel(worker.addresses["position"], ServiceSettings()) as opened:
        stub = PositionServiceStub(opened)

        async def moved(revision: int, **offsets: int) -> None:
            fence = position.TaskFence(connector_uid=uid, task=0, generation=revision, epoch=revision)
            await stub.OpenTask(position.OpenTaskRequest(fence=fence, revision=revision))
            request = position.CommitPositionsRequest(fence=fence)
            for partition, offset in offsets.items():
                request.updates.add().position.CopyFrom(record_pb2.Position(partition=partition, offset=f"[{offset}]"))
            await stub.CommitPositions(request)

        await moved(1, p=5)
        refused = await run(rest, "connector", "rollback", "one", "7", "--with-positions")
        assert (refused.exit_code, await changes(rest, "one")) == (3, ["CREATE"])
        file.write_text(source("one", "/2"))
        assert (await run(rest, "apply", "-f", str(file), "--wait")).exit_code == 0
        await moved(2, p=9, came=1)

        back = await run(rest, "connector", "rollback", "one", "1", "--with-positions", "-m", "2 was wrong", "-o", "json")
        assert back.exit_code == 0, back.output
        connector = answered(back)
        assert (connector["revision"], connector["config"]["filename"]) == ("3", "/1")
        assert connector["wantedState"] == "WANTED_STATE_RUNNING"
        positions = (await rest.get("/v1/connectors/one/positions")).json()["positions"]
        assert [(each["partition"], each["offset"]) for each in positions] == [("p", "[5]")]
        incarnation = positions[0]["incarnation"]
        assert int(incarnation) > 0
        assert await changes(rest, "one") == ["RESUME", "MOVE_POSITIONS", "ROLLBACK", "STOP", "UPDATE", "CREATE"]

        # Once more is the same: the configuration is there, and so are the positions.
        again = await run(rest, "connector", "rollback", "one", "1", "--with-positions")
        assert again.exit_code == 0, again.output
        positions = (await rest.get("/v1/connectors/one/positions")).json()["positions"]
        assert [(each["offset"], each["incarnation"]) for each in positions] == [("[5]", incarnation)]

    diff = await run(rest, "connector", "diff", "one", "1", "2")
    assert diff.stdout == "one: revision 1 -> 2\n- filename = /1\n+ filename = /2\n"
    assert (await run(rest, "connector", "diff", "one", "--exit-code")).exit_code == 7
    assert (await run(rest, "connector", "diff", "one", "1", "3", "--exit-code")).exit_code == 0
    assert (await run(rest, "connector", "diff", "one", "1", "9")).exit_code == 3
    revisions = await run(rest, "connector", "revisions", "one")
    assert "2 was wrong" in revisions.stdout
    assert "rollback to 1" in revisions.stdout
