"""The paths of Kafka Connect, with the shapes, statuses and words of its documents."""

import json
from typing import Any

import httpx
import pytest
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.record.v1.record_pb2 import Position
from rocketconnect.state.v1 import state_service_pb2 as s

from rocketconnect_kit.sealing import Keys

SOURCE = "org.apache.rocketmq.connect.file.FileSourceConnector"
SINK = "org.apache.rocketmq.connect.file.FileSinkConnector"
CONFIG = {"connector.class": SOURCE, "filename": "/in", "connect.topicname": "t"}
KC = "/kafka-connect"
SRC = f"{KC}/connectors/src"


async def created(rest: httpx.AsyncClient, name: str = "src", **more: object) -> str:
    answer = await rest.post(f"{KC}/connectors", json={"name": name, "config": CONFIG, **more})
    assert answer.status_code == 201, answer.text
    return str((await rest.get(f"/v1/connectors/{name}")).json()["connector"]["uid"])


async def wanted(rest: httpx.AsyncClient, name: str = "src") -> str:
    return str((await rest.get(f"/v1/connectors/{name}")).json()["connector"]["wantedState"]).removeprefix("WANTED_STATE_")


def said(uid: str, state: Any = c.STATE_RUNNING, task: Any = c.STATE_RUNNING, trace: str = "") -> s.ConnectorState:
    tasks = [s.TaskState(task=-1), s.TaskState(task=0, state=task, worker_id="worker-1", config={"filename": "/in"}, trace=trace)]
    return s.ConnectorState(
        connector="src", connector_uid=uid, state=state, worker_id="worker-1", type=c.CONNECTOR_TYPE_SOURCE, tasks=tasks
    )


@pytest.mark.parametrize("path", [KC, f"{KC}/"])
async def test_the_root_tells_the_version_of_kafka_connect_whose_paths_these_are(rest: httpx.AsyncClient, path: str) -> None:
    answer = (await rest.get(path)).json()
    assert set(answer) == {"version", "commit", "kafka_cluster_id"}
    assert answer["version"].startswith("4.")


async def test_a_connector_is_created_and_told_with_its_name_in_its_configuration(rest: httpx.AsyncClient) -> None:
    body = {"name": "src", "config": {**CONFIG, "name": "src", "max.tasks": 2, "nothing": None}}
    answer = await rest.post(f"{KC}/connectors", json=body)
    info = {"name": "src", "config": {**CONFIG, "name": "src", "max.tasks": "2"}, "tasks": [], "type": "source"}
    assert (answer.status_code, answer.json(), answer.headers["location"]) == (201, info, SRC)
    assert (await rest.get(SRC)).json() == info
    assert (await rest.get(f"{SRC}/config")).json() == info["config"]
    assert (await rest.get(f"{KC}/connectors")).json() == ["src"]
    assert "name" not in (await rest.get("/v1/connectors/src")).json()["connector"]["config"]
    again = await rest.post(f"{KC}/connectors", json=body)
    assert (again.status_code, again.json()) == (409, {"error_code": 409, "message": "Connector src already exists"})


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED"])
async def test_a_connector_begins_in_the_state_that_is_asked_for(rest: httpx.AsyncClient, state: str) -> None:
    await created(rest, initial_state=state)
    assert await wanted(rest) == state


async def test_put_creates_and_updates_and_patch_changes_keys(rest: httpx.AsyncClient) -> None:
    assert (await rest.put(f"{SRC}/config", json=CONFIG)).status_code == 201
    same = await rest.put(f"{SRC}/config", json={**CONFIG, "name": "src"})
    assert (same.status_code, same.json()["config"]) == (200, {**CONFIG, "name": "src"})
    changed = await rest.patch(f"{SRC}/config", json={"filename": "/other", "max.tasks": 3})
    assert (changed.status_code, changed.json()["config"]["filename"], changed.json()["config"]["max.tasks"]) == (
        200,
        "/other",
        "3",
    )
    assert "max.tasks" not in (await rest.patch(f"{SRC}/config", json={"max.tasks": None})).json()["config"]
    assert (await rest.get("/v1/connectors/src")).json()["connector"]["revision"] == "3"


async def test_status_and_tasks_have_the_shapes_of_kafka_connect(rest: httpx.AsyncClient, system: Any) -> None:
    system.states.say("src", said(await created(rest)))
    task = {"id": 0, "state": "RUNNING", "worker_id": "worker-1"}
    status = {"name": "src", "connector": {"state": "RUNNING", "worker_id": "worker-1"}, "tasks": [task], "type": "source"}
    info = {"name": "src", "config": {"name": "src", **CONFIG}, "tasks": [{"connector": "src", "task": 0}], "type": "source"}
    bodies = {
        "/connectors/src": info,
        "/connectors/src/status": status,
        "/connectors/src/tasks": [{"id": {"connector": "src", "task": 0}, "config": {"filename": "/in"}}],
        "/connectors/src/tasks/0/status": task,
        "/connectors/src/topics": {"src": {"topics": ["t"]}},
        "/connectors?expand=status": {"src": {"status": status}},
        "/connectors?expand=status&expand=info": {"src": {"status": status, "info": info}},
    }
    for path, body in bodies.items():
        answer = await rest.get(f"{KC}{path}")
        assert (answer.status_code, answer.json()) == (200, body), path


@pytest.mark.parametrize(
    ("ours", "theirs", "trace"),
    [
        ("UNASSIGNED", "UNASSIGNED", None),
        ("STARTING", "UNASSIGNED", "STARTING: t"),
        ("IDLE", "RUNNING", "IDLE: t"),
        ("WAITING", "RUNNING", "WAITING: t"),
        ("STALLED", "FAILED", "STALLED: t"),
        ("PAUSED", "PAUSED", None),
        ("STOPPED", "STOPPED", None),
        ("FAILED", "FAILED", None),
        ("RESTARTING", "RESTARTING", None),
    ],
)
async def test_a_state_that_kafka_connect_does_not_know_stands_before_the_trace(
    rest: httpx.AsyncClient, system: Any, ours: str, theirs: str, trace: str | None
) -> None:
    system.states.say("src", said(await created(rest), task=c.State.Value(f"STATE_{ours}"), trace="t"))
    answer = (await rest.get(f"{SRC}/tasks/0/status")).json()
    assert answer == {"id": 0, "state": theirs, "worker_id": "worker-1", "trace": trace or "t"}


async def test_orders_change_what_is_wanted(rest: httpx.AsyncClient) -> None:
    await created(rest)
    for order, status, state in (("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED")):
        answer = await rest.put(f"{SRC}/{order}")
        assert (answer.status_code, answer.content, await wanted(rest)) == (status, b"", state)
    gone = await rest.delete(SRC)
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await rest.get(f"{KC}/connectors")).json() == []
    assert len((await rest.get("/v1/connectors/src/revisions")).json()["revisions"]) == 1


async def restarts(rest: httpx.AsyncClient) -> int:
    changes = (await rest.get("/v1/connectors/src/changes")).json()["changes"]
    return sum(change["action"] == "ACTION_RESTART" for change in changes)


async def test_a_restart_of_what_failed_does_nothing_where_nothing_has(rest: httpx.AsyncClient, system: Any) -> None:
    uid = await created(rest)
    system.states.say("src", said(uid))
    answer = await rest.post(f"{SRC}/restart?includeTasks=true&onlyFailed=true")
    assert (answer.status_code, answer.json()["name"], await restarts(rest)) == (202, "src", 0)
    system.states.say("src", said(uid, task=c.STATE_FAILED))
    assert (await rest.post(f"{SRC}/restart?includeTasks=true&onlyFailed=true")).status_code == 202
    assert await restarts(rest) == 1
    assert (await rest.post(f"{SRC}/restart")).status_code == 204
    assert (await rest.post(f"{SRC}/tasks/0/restart")).status_code == 204
    assert await restarts(rest) == 3
    assert (await rest.post(f"{SRC}/tasks/7/restart")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", f"/{end}") for end in ("", "config", "status", "tasks", "tasks/0/status", "topics", "offsets")),
        *(("PUT", f"/{end}") for end in ("pause", "resume", "stop")),
        *(("POST", f"/{end}") for end in ("restart", "tasks/0/restart")),
        *(("DELETE", f"/{end}") for end in ("", "offsets")),
    ],
)
async def test_a_connector_that_is_not_there_is_told_as_there(rest: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await rest.request(method, f"{KC}/connectors/nosuch{path.rstrip('/')}")
    assert (answer.status_code, answer.json()) == (404, {"error_code": 404, "message": "Connector nosuch not found"})


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "word"),
    [
        ("POST", "/connectors", {"name": "x", "config": {"connector.class": SOURCE}}, 400, "filename"),
        ("POST", "/connectors", {"name": "x", "config": {**CONFIG, "name": "y"}}, 400, "doesn't match"),
        ("POST", "/connectors", {"config": CONFIG}, 400, "the name is missing"),
        ("POST", "/connectors", {"name": "x"}, 400, "JSON object"),
        ("POST", "/connectors", {"name": "x", "config": {"a": [1]}}, 400, "these are none: a"),
        ("POST", "/connectors", {"name": "x", "config": CONFIG, "initial_state": "GONE"}, 400, "RUNNING, PAUSED, STOPPED"),
        ("PUT", "/connectors/x/config", {"connector.class": "no.such.Class"}, 400, "no.such.Class"),
        ("PATCH", "/connectors/x/config", {}, 404, "Connector x not found"),
        ("GET", "/connectors/x/tasks/y/status", None, 400, "no number of a task"),
        ("PUT", "/connectors/x/topics/reset", None, 403, "Topic tracking is disabled"),
        ("GET", "/connector-plugins/x/config", None, 404, "Unknown plugin x"),
        ("PUT", "/admin/loggers/root", {"level": "LOUD"}, 400, "'LOUD' is none"),
        ("GET", "/nosuch", None, 404, "there is nothing at"),
        ("DELETE", "/connectors", None, 405, "not answered here"),
    ],
)
async def test_what_is_refused_is_told_in_the_form_of_kafka_connect(
    rest: httpx.AsyncClient, method: str, path: str, body: object, status: int, word: str
) -> None:
    answer = await rest.request(method, f"{KC}{path}", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    assert (set(answer.json()), answer.json()["error_code"]) == ({"error_code", "message"}, status)
    assert word in answer.json()["message"]


async def test_the_offsets_of_a_source_of_kafka_connect_are_its_own_maps(rest: httpx.AsyncClient, system: Any) -> None:
    await created(rest)
    system.positions.by_name["src"] = [
        Position(partition='{"filename":"/in"}', offset="[3,9]", resume='{"offset":{"position":6}}'),
        Position(partition="~task/0", offset="[1]"),
    ]
    shown = (await rest.get(f"{SRC}/offsets")).json()
    assert shown == {"offsets": [{"partition": {"filename": "/in"}, "offset": {"position": 6}}]}
    answer = await rest.patch(f"{SRC}/offsets", json={"offsets": [{"partition": {"filename": "/in"}, "offset": {"position": 2}}]})
    assert (answer.status_code, set(answer.json())) == (200, {"message"})
    ((moved,),) = [request.positions for request in system.positions.moved]
    assert (moved.partition, moved.offset, json.loads(moved.resume)) == ('{"filename":"/in"}', "[0,0]", {"offset": {"position": 2}})


async def test_positions_of_other_sources_are_told_and_moved_as_they_are_and_null_forgets_one(
    rest: httpx.AsyncClient, system: Any
) -> None:
    uid = await created(rest)
    rows = [Position(partition="file:/a", offset="[17]", resume='{"c":1}'), Position(partition="file:/b", offset="[4]")]
    system.positions.by_name["src"] = rows
    first, second = (await rest.get(f"{SRC}/offsets")).json()["offsets"]
    assert first == {"partition": {"partition": "file:/a"}, "offset": {"offset": [17], "resume": {"c": 1}}}
    assert second == {"partition": {"partition": "file:/b"}, "offset": {"offset": [4]}}
    await rest.patch(f"{SRC}/offsets", json={"offsets": [first]})
    await rest.patch(f"{SRC}/offsets", json={"offsets": [{**second, "offset": None}]})
    altered, imported = system.positions.moved
    assert [(each.partition, each.offset, json.loads(each.resume)) for each in altered.positions] == [("file:/a", "[17]", {"c": 1})]
    assert (imported.connector_uid, list(imported.positions)) == (uid, rows[:1])


async def test_the_offsets_of_a_sink_are_those_of_its_queues(rest: httpx.AsyncClient, system: Any) -> None:
    config = {"connector.class": SINK, "filename": "/out", "connect.topicnames": "a,b"}
    assert (await rest.put(f"{SRC}/config", json=config)).status_code == 201
    system.positions.by_name["src"] = [
        Position(partition="a/broker-0/3", offset="[17]"),
        Position(partition="a/b-1/3", offset="[2]"),
    ]
    first, _ = (await rest.get(f"{SRC}/offsets")).json()["offsets"]
    place = {"kafka_topic": "a", "kafka_partition": 3}
    assert first == {"partition": {**place, "broker": "broker-0"}, "offset": {"kafka_offset": 17}}
    unclear = await rest.patch(f"{SRC}/offsets", json={"offsets": [{"partition": place, "offset": {"kafka_offset": 5}}]})
    assert (unclear.status_code, "is on b-1, broker-0: name its broker" in unclear.json()["message"]) == (400, True)
    system.positions.by_name["src"].pop()
    assert (
        await rest.patch(f"{SRC}/offsets", json={"offsets": [{"partition": place, "offset": {"kafka_offset": 5}}]})
    ).status_code == 200
    ((moved,),) = [request.positions for request in system.positions.moved]
    assert (moved.partition, moved.offset) == ("a/broker-0/3", "[5]")


@pytest.mark.parametrize(
    "body",
    [{}, {"offsets": []}, {"offsets": [3]}, {"offsets": [{"partition": {"a": 1}}]}, {"offsets": [{"partition": 1, "offset": 1}]}],
)
async def test_offsets_that_can_not_be_meant_are_refused(rest: httpx.AsyncClient, system: Any, body: object) -> None:
    await created(rest)
    answer = await rest.patch(f"{SRC}/offsets", json=body)
    assert (answer.status_code, answer.json()["error_code"], system.positions.moved) == (400, 400, [])


@pytest.mark.parametrize(
    ("queue", "following"), [("3", "1e999"), ("3", "1.5"), ("3", "true"), ("3", '"x"'), ("1e999", "5"), ("[3]", "5")]
)
async def test_an_offset_of_a_sink_that_is_no_whole_number_is_refused(
    rest: httpx.AsyncClient, system: Any, queue: str, following: str
) -> None:
    sink = {"name": "src", "config": {"connector.class": SINK, "filename": "/out", "connect.topicnames": "a"}}
    assert (await rest.post(f"{KC}/connectors", json=sink)).status_code == 201
    place = f'{{"kafka_topic": "a", "kafka_partition": {queue}, "broker": "b"}}'
    body = f'{{"offsets": [{{"partition": {place}, "offset": {{"kafka_offset": {following}}}}}]}}'
    answer = await rest.patch(f"{SRC}/offsets", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error_code"], system.positions.moved) == (400, 400, [])


async def test_a_connector_is_told_by_its_own_name_whatever_its_configuration_says(rest: httpx.AsyncClient) -> None:
    body = {"name": "src", "config": {**CONFIG, "name": "other"}}
    assert (await rest.post("/v1/connectors", json=body)).status_code == 200
    assert (await rest.get(f"{SRC}/config")).json()["name"] == "src"


async def test_offsets_are_not_reset_while_the_connector_runs(rest: httpx.AsyncClient) -> None:
    await created(rest)
    answer = await rest.delete(f"{SRC}/offsets")
    assert (answer.status_code, answer.json()) == (400, {"error_code": 400, "message": "stop the connector first"})


async def test_plugins_are_told_with_their_options(rest: httpx.AsyncClient) -> None:
    connectors = (await rest.get(f"{KC}/connector-plugins")).json()
    assert {"class": "file_source", "type": "source", "version": "1.0"} in connectors
    assert {each["type"] for each in connectors} == {"source", "sink"}
    everything = (await rest.get(f"{KC}/connector-plugins?connectorsOnly=false")).json()
    assert {each["type"] for each in everything} == {"source", "sink", "converter", "transformation"}
    keys = (await rest.get(f"{KC}/connector-plugins/{SOURCE}/config")).json()
    assert [(key["name"], key["type"], key["required"]) for key in keys] == [
        ("filename", "STRING", True),
        ("password", "PASSWORD", False),
    ]


async def test_a_check_tells_each_option_with_what_is_wrong_and_hides_secrets(rest: httpx.AsyncClient) -> None:
    path = f"{KC}/connector-plugins/file_source/config/validate"
    answer = await rest.put(path, json={"connector.class": SOURCE, "name": "x", "connect.topicname": "t", "password": "hunter2"})
    body = answer.json()
    assert (answer.status_code, body["name"], "hunter2" in answer.text) == (200, "file_source", False)
    values = {each["value"]["name"]: each["value"] for each in body["configs"]}
    assert values["filename"]["errors"] == ["is missing. set filename"]
    assert values["password"]["value"] == "[hidden]"
    assert values["connect.topicname"] == {
        "name": "connect.topicname",
        "value": "t",
        "recommended_values": [],
        "errors": [],
        "visible": True,
    }
    assert body["error_count"] == sum(len(value["errors"]) for value in values.values())
    other = await rest.put(path, json={"connector.class": SINK})
    assert (other.status_code, "does not match" in other.json()["message"]) == (400, True)


async def test_a_check_takes_a_secret_that_a_create_would_put_into_the_keystore_and_stores_nothing(
    rest: httpx.AsyncClient, system: Any
) -> None:
    path = f"{KC}/connector-plugins/file_source/config/validate"

    async def errors() -> list[str]:
        body = (await rest.put(path, json={**CONFIG, "password": "hunter2"})).json()
        return [each["value"]["name"] for each in body["configs"] if each["value"]["errors"]]

    assert await errors() == ["password"]
    system.keystore._keys = Keys([b"k" * 32])
    assert await errors() == []
    assert (await rest.get("/v1/secrets")).json()["secrets"] == []
    made = await rest.post(f"{KC}/connectors", json={"name": "src", "config": {**CONFIG, "password": "hunter2"}})
    assert (made.status_code, "hunter2" in made.text) == (201, False)
    assert made.json()["config"]["password"].startswith("${keystore:src.password.")


async def test_levels_of_logs_are_told_and_set(rest: httpx.AsyncClient) -> None:
    levels = (await rest.get(f"{KC}/admin/loggers")).json()
    assert levels["root"] == {"level": levels["root"]["level"], "last_modified": None}
    answer = await rest.put(f"{KC}/admin/loggers/services.gateway.nothing", json={"level": "WARN"})
    assert (answer.status_code, answer.json()) == (200, ["services.gateway.nothing"])
    assert (await rest.get(f"{KC}/admin/loggers/services.gateway.nothing.below")).json()["level"] == "WARN"
    assert (await rest.put(f"{KC}/admin/loggers/services.gateway.nothing?scope=cluster", json={"level": "INFO"})).status_code == 204


async def test_a_secret_is_never_echoed(rest: httpx.AsyncClient) -> None:
    answer = await rest.post(f"{KC}/connectors", json={"name": "x", "config": {**CONFIG, "password": "hunter2"}})
    assert (answer.status_code, "hunter2" in answer.text) == (400, False)


async def test_every_change_is_kept_with_who_the_headers_name(rest: httpx.AsyncClient) -> None:
    headers = {"X-RocketConnect-Author": "ann", "X-RocketConnect-Reason": "night shift"}
    body = {"name": "src", "config": CONFIG}
    assert (await rest.post(f"{KC}/connectors", json=body, headers=headers)).status_code == 201
    await rest.put(f"{SRC}/config", json={**CONFIG, "filename": "/b"}, headers=headers)
    for order in ("pause", "resume", "stop"):
        await rest.put(f"{SRC}/{order}", headers=headers)
    await rest.post(f"{SRC}/restart", headers=headers)
    await rest.delete(SRC, headers=headers)
    changes = (await rest.get("/v1/connectors/src/changes")).json()["changes"]
    assert len(changes) == 7
    assert {(change["author"], change["reason"]) for change in changes} == {("ann", "night shift")}


async def test_a_page_of_another_site_changes_nothing(rest: httpx.AsyncClient) -> None:
    answer = await rest.post(f"{KC}/connectors", json={"name": "x", "config": CONFIG}, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)


async def test_what_is_told_of_a_configuration_is_a_header_and_no_member_that_clients_do_not_know(rest: httpx.AsyncClient) -> None:
    given = {"connector.class": "org.apache.rocketmq.connect.http.HttpSinkConnector", "url": "h:80", "connect.topicnames": "t"}
    made = await rest.put(f"{KC}/connectors/out/config", json=given)
    assert (made.status_code, set(made.json())) == (201, {"name", "config", "tasks", "type"})
    assert made.headers["warning"].startswith('299 - "connector.class is http_sink here, with ')
    assert made.headers["location"] == f"{KC}/connectors/out"
    changed = await rest.patch(f"{KC}/connectors/out/config", json={"errors.tolerance": "all"})
    assert changed.headers["warning"] == '299 - "errors.tolerance drops records (given: all). keep them"'
    checked = await rest.put(f"{KC}/connector-plugins/file_source/config/validate", json={**CONFIG, "errors.tolerance": "all"})
    assert (checked.json()["error_count"], checked.headers["warning"]) == (0, changed.headers["warning"])
    assert "warning" not in (await rest.post(f"{KC}/connectors", json={"name": "src", "config": CONFIG})).headers
