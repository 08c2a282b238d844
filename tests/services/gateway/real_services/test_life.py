"""Both APIs, from the creation of a connector to its end."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from rocketconnect.connector.v1 import connector_pb2

SOURCE = "org.apache.rocketmq.connect.file.FileSourceConnector"
CONFIG = {"connector.class": SOURCE, "filename": "/in", "connect.topicname": "t"}


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await what():
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_life_of_a_connector_over_the_original_paths(real: tuple[httpx.AsyncClient, Any]) -> None:
    rest, worker = real

    async def body(path: str) -> Any:
        answer = await rest.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["body"]

    def shows(wanted: str) -> Callable[[], Awaitable[bool]]:
        async def check() -> bool:
            said = await body("/connectors/src/status")
            return bool(said["connector"]["state"] == wanted and said["tasks"])

        return check

    assert (await rest.get("/readyz")).json()["ready"] is True
    assert await body("/getClusterInfo") == ["worker-1"]
    assert SOURCE in {each["className"] for each in await body("/plugin/list/connectors")}
    assert (await rest.post("/connectors/src", json=CONFIG)).json() == {"status": 200, "body": CONFIG}
    await until(shows("RUNNING"))
    task = {"state": "RUNNING", "trace": None, "workerId": "worker-1", "id": 0}
    said = await body("/connectors/src/status")
    assert (said["name"], said["type"], said["tasks"]) == ("src", "SOURCE", [task])
    assert await body("/connectors/src/tasks/0/status") == task
    assert await body("/connectors/src/tasks") == [{"id": {"connector": "src", "task": 0}, "config": {"filename": "/in"}}]
    assert set(await body("/connectors/list")) == {"src"}
    assert [each["connectorName"] for each in (await body("/allocated/tasks"))["runningTasks"]] == ["src"]

    worker.state, worker.trace = connector_pb2.STATE_WAITING, "broker-a does not answer"
    await until(shows("RUNNING"))

    async def waits() -> bool:
        return bool((await body("/connectors/src/tasks/0/status"))["trace"] == "WAITING: broker-a does not answer")

    await until(waits)
    worker.state, worker.trace = connector_pb2.STATE_RUNNING, ""
    await body("/connectors/src/pause")
    await until(shows("PAUSED"))
    await body("/connectors/src/resume")
    await until(shows("RUNNING"))
    assert (await rest.post("/connectors/src", json=CONFIG)).status_code == 409
    assert (await rest.post("/connectors/src", json={**CONFIG, "filename": "/other"})).status_code == 200

    async def moved() -> bool:
        return bool(
            await body("/connectors/src/tasks") == [{"id": {"connector": "src", "task": 0}, "config": {"filename": "/other"}}]
        )

    await until(moved)
    assert await body("/connectors/src/stop") == "Connector [src] deleted successfully"
    assert await body("/connectors/list") == {}

    async def gone() -> bool:
        return (await rest.get("/connectors/src/status")).status_code == 404

    await until(gone)
    revisions = (await rest.get("/v1/connectors/src/revisions")).json()["revisions"]
    assert [each["config"]["filename"] for each in revisions] == ["/other", "/in"]


async def test_life_of_a_connector_over_v1(real: tuple[httpx.AsyncClient, Any]) -> None:
    rest, _ = real
    made = (await rest.post("/v1/connectors", json={"name": "src", "config": CONFIG, "requestId": "r"})).json()["connector"]
    async with rest.stream("GET", "/v1/connectors/src/state:watch", params={"interval": "0.1s"}) as watch, asyncio.timeout(20):
        async for line in watch.aiter_lines():
            if json.loads(line)["state"]["state"] == "STATE_RUNNING":
                break
    workers = (await rest.get("/v1/workers")).json()["workers"]
    assert [(each["workerId"], each["alive"], each["tasks"]) for each in workers] == [("worker-1", True, 1)]
    refused = await rest.post("/v1/workers/worker-1:drain", json={})
    assert (refused.status_code, refused.json()["reason"]) == (400, "NO_OTHER_WORKER")
    assert "src" in refused.json()["detail"]
    undrained = await rest.post("/v1/workers/worker-1:undrain", json={})
    assert (undrained.json()["worker"]["drained"], undrained.json()["worker"]["weight"]) == (False, 1)
    unknown = await rest.post("/v1/workers/unknown:drain", json={})
    assert (unknown.status_code, unknown.json()["reason"]) == (404, "WORKER_NOT_FOUND")
    assignments = (await rest.get("/v1/assignments")).json()["assignments"]
    assert {(each["unit"], each["connector"], each["task"]) for each in assignments} >= {("UNIT_TASK", "src", 0)}
    assert (await rest.get("/v1/connectors/src/positions")).json()["positions"] == []
    refused = await rest.post("/v1/connectors/src/positions:reset")
    assert (refused.status_code, refused.json()["reason"]) == (400, "NOT_STOPPED")
    stopped = await rest.post("/v1/connectors/src:stop")
    assert stopped.json()["connector"]["wantedState"] == "WANTED_STATE_STOPPED"

    async def has_stopped() -> bool:
        return bool((await rest.get("/v1/connectors/src/state")).json()["state"]["state"] == "STATE_STOPPED")

    await until(has_stopped)
    assert (await rest.post("/v1/connectors/src/positions:reset")).json() == {"count": "0", "changes": []}
    deleted = await rest.delete("/v1/connectors/src", params={"etag": made["etag"]})
    assert (deleted.status_code, deleted.json()["reason"]) == (409, "ETAG_MISMATCH")
    assert (await rest.delete("/v1/connectors/src")).status_code == 200
    assert (await rest.get("/v1/connectors/src/logs")).status_code == 404
