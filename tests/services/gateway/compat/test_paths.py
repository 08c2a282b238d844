import json
from typing import Any

import httpx
import pytest
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s

from rocketconnect_kit.errors import AlreadyExists, NotFound
from services.gateway.routing import Call

SOURCE = "org.apache.rocketmq.connect.file.FileSourceConnector"
CONFIG = {"connector.class": SOURCE, "filename": "/in", "connect.topicname": "t"}


async def created(rest: httpx.AsyncClient, name: str = "src") -> str:
    answer = await rest.post(f"/connectors/{name}", json=CONFIG)
    assert answer.status_code == 200, answer.text
    return str((await rest.get(f"/v1/connectors/{name}")).json()["connector"]["uid"])


def running(name: str, uid: str) -> s.ConnectorState:
    task = s.TaskState(task=0, state=c.STATE_RUNNING, worker_id="worker-1", config={"filename": "/in"})
    return s.ConnectorState(
        connector=name, connector_uid=uid, state=c.STATE_RUNNING, worker_id="worker-1", type=c.CONNECTOR_TYPE_SOURCE, tasks=[task]
    )


async def test_post_stores_and_echoes_the_configuration(rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/connectors/src", json={**CONFIG, "max.tasks": 2})
    assert answer.status_code == 200
    assert answer.json() == {"status": 200, "body": {**CONFIG, "max.tasks": "2"}}
    assert (await rest.get("/connectors/src/config")).json()["body"] == {
        "name": "src",
        "config": {**CONFIG, "max.tasks": "2"},
        "tasks": [],
        "type": "SOURCE",
    }


async def test_post_of_another_configuration_updates_and_of_the_same_is_409(rest: httpx.AsyncClient) -> None:
    await created(rest)
    same = await rest.post("/connectors/src", json=CONFIG)
    assert same.status_code == 409
    assert same.json() == {"errorCode": 409, "message": "Connector with same config already exist."}
    assert (await rest.post("/connectors/src", json={**CONFIG, "filename": "/other"})).status_code == 200
    assert (await rest.get("/v1/connectors/src")).json()["connector"]["revision"] == "2"


async def test_get_with_a_configuration_creates_too(rest: httpx.AsyncClient) -> None:
    answer = await rest.get("/connectors/src", params={"config": json.dumps(CONFIG)})
    assert answer.json() == {"status": 200, "body": CONFIG}
    missing = await rest.get("/connectors/src")
    assert missing.status_code == 400
    assert missing.json() == {"errorCode": 400, "message": "Failed! query param 'config' is required "}


async def test_status_list_tasks_and_task_status_have_the_original_shapes(rest: httpx.AsyncClient, system: Any) -> None:
    uid = await created(rest)
    system.states.say("src", running("src", uid))
    task = {"state": "RUNNING", "trace": None, "workerId": "worker-1", "id": 0}
    status = {
        "name": "src",
        "connector": {"state": "RUNNING", "trace": None, "workerId": "worker-1"},
        "tasks": [task],
        "type": "SOURCE",
    }
    info = {"name": "src", "config": CONFIG, "tasks": [{"connector": "src", "task": 0}], "type": "SOURCE"}
    bodies = {
        "/connectors/src/status": status,
        "/connectors/src/tasks/0/status": task,
        "/connectors/src/config": info,
        "/connectors/src/tasks": [{"id": {"connector": "src", "task": 0}, "config": {"filename": "/in"}}],
        "/connectors/list": {"src": {"status": status, "info": info}},
        "/allocated/connectors": {"src": CONFIG},
    }
    for path, body in bodies.items():
        answer = await rest.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": 200, "body": body}), path
    lists = (await rest.get("/allocated/tasks")).json()["body"]
    assert lists["runningTasks"] == [{"connectorName": "src", "config": {"filename": "/in"}, "taskState": "RUNNING"}]
    assert set(lists) == {"pendingTasks", "runningTasks", "stoppingTasks", "stoppedTasks", "errorTasks"}


async def test_lists_hold_all_pages(rest: httpx.AsyncClient, system: Any) -> None:
    for name in ("a", "b", "c"):
        system.states.say(name, running(name, await created(rest, name)))
    listed = (await rest.get("/connectors/list")).json()["body"]
    assert {name: len(each["status"]["tasks"]) for name, each in listed.items()} == {"a": 1, "b": 1, "c": 1}
    assert (await rest.get("/getClusterInfo")).json()["body"] == ["worker-1", "worker-3"]


async def test_connector_of_which_nobody_has_said_anything_is_unassigned(rest: httpx.AsyncClient) -> None:
    await created(rest)
    body = (await rest.get("/connectors/src/status")).json()["body"]
    assert body == {
        "name": "src",
        "connector": {"state": "UNASSIGNED", "trace": None, "workerId": None},
        "tasks": [],
        "type": "SOURCE",
    }


async def test_state_of_a_deleted_connector_of_the_same_name_is_not_shown(rest: httpx.AsyncClient, system: Any) -> None:
    system.states.say("src", running("src", "uid-of-the-deleted-one"))
    await created(rest)
    assert (await rest.get("/connectors/list")).json()["body"]["src"]["status"]["connector"]["state"] == "UNASSIGNED"


async def test_pause_and_resume_change_what_is_wanted(rest: httpx.AsyncClient) -> None:
    await created(rest)
    assert (await rest.get("/connectors/src/pause")).json() == {"status": 200, "body": "Connector [src] paused successfully"}
    assert (await rest.get("/v1/connectors/src")).json()["connector"]["wantedState"] == "WANTED_STATE_PAUSED"
    assert (await rest.get("/connectors/src/resume")).json() == {"status": 200, "body": "Connector [src] resumed successfully"}
    assert (await rest.get("/v1/connectors/src")).json()["connector"]["wantedState"] == "WANTED_STATE_RUNNING"


async def test_stop_deletes_and_the_revisions_stay(rest: httpx.AsyncClient) -> None:
    await created(rest)
    assert (await rest.get("/connectors/src/stop")).json() == {"status": 200, "body": "Connector [src] deleted successfully"}
    assert (await rest.get("/connectors/list")).json()["body"] == {}
    assert [each["config"] for each in (await rest.get("/v1/connectors/src/revisions")).json()["revisions"]] == [CONFIG]


async def test_all_at_once(rest: httpx.AsyncClient) -> None:
    async def body(path: str) -> str:
        return str((await rest.get(path)).json()["body"])

    assert await body("/connectors/stop/all") == "No connector needs to be deleted, please add connector first"
    assert await body("/connectors/pause/all") == "No connector needs to be paused, please add connector first"
    await created(rest, "a")
    await created(rest, "b")
    assert await body("/connectors/pause/all") == "2 connectors are suspended"
    assert (await rest.get("/v1/connectors/b")).json()["connector"]["wantedState"] == "WANTED_STATE_PAUSED"
    assert await body("/connectors/resume/all") == "2 connectors are resumed"
    assert await body("/connectors/stop/all") == "[a, b] connectors are deleted"
    assert (await rest.get("/connectors/list")).json()["body"] == {}


async def test_plugins_are_listed_under_every_name_they_answer_to(rest: httpx.AsyncClient) -> None:
    everything = (await rest.get("/plugin/list")).json()["body"]
    assert {each["type"] for each in everything} == {"SOURCE", "SINK", "CONVERTER", "TRANSFORMATION"}
    connectors = (await rest.get("/plugin/list/connectors")).json()["body"]
    assert {"className": SOURCE, "type": "SOURCE", "version": "1.0"} in connectors
    assert {"className": "file_source", "type": "SOURCE", "version": "1.0"} in connectors
    assert {each["type"] for each in connectors} == {"SOURCE", "SINK"}
    assert (await rest.get("/plugin/reload")).json()["body"] == "Plugin reload succeeded"


@pytest.mark.parametrize("path", ["/plugin/config", "/plugin/config/validate"])
async def test_what_was_not_implemented_there_is_not_here(rest: httpx.AsyncClient, path: str) -> None:
    answer = await rest.get(path)
    assert (answer.status_code, answer.json()) == (
        400,
        {"errorCode": 400, "message": "This function has not been implemented yet"},
    )


@pytest.mark.parametrize(
    "path", ["status", "config", "tasks", "tasks/0/status", "tasks/abc/status", "tasks/-1/status", "pause", "resume", "stop"]
)
async def test_unknown_connector_is_told_in_status_and_body(rest: httpx.AsyncClient, path: str) -> None:
    answer = await rest.get(f"/connectors/nosuch/{path}")
    expected = 400 if path in ("tasks/abc/status", "tasks/-1/status") else 404
    assert (answer.status_code, answer.json()["errorCode"]) == (expected, expected)
    words = {"status": "No status found for connector nosuch", "config": "Connector [nosuch] does not exist"}
    assert words.get(path, "") in answer.json()["message"]


async def test_unknown_task_of_a_known_connector(rest: httpx.AsyncClient, system: Any) -> None:
    system.states.say("src", running("src", await created(rest)))
    answer = await rest.get("/connectors/src/tasks/7/status")
    assert answer.status_code == 404
    assert answer.json()["message"].startswith("No status found for task src-7")


BAD_CONFIGURATIONS = {
    "noclass": ({"connect.topicname": "t"}, "connector.class"),
    "unknown": ({"connector.class": "no.such.Class"}, "no.such.Class"),
    "nofile": ({"connector.class": SOURCE, "connect.topicname": "t"}, "filename"),
    "notopic": ({"connector.class": SOURCE, "filename": "/in"}, "connect.topicname"),
    "maxtasks": ({**CONFIG, "max.tasks": "abc"}, "max.tasks"),
}


@pytest.mark.parametrize("name", BAD_CONFIGURATIONS)
async def test_bad_configuration_is_refused_explained_and_not_stored(rest: httpx.AsyncClient, name: str) -> None:
    configuration, word = BAD_CONFIGURATIONS[name]
    answer = await rest.post(f"/connectors/{name}", json=configuration)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, 400)
    assert word in answer.json()["message"]
    assert (await rest.get(f"/connectors/{name}/config")).status_code == 404


@pytest.mark.parametrize("name", ["a%2Fb", "..%2F..%2Fx", "a" * 300, "%20", "%00", "a.b", "a%20b", "-a", "%C3%A9", "a:b"])
async def test_bad_name_is_refused_with_the_rule(rest: httpx.AsyncClient, name: str) -> None:
    answer = await rest.post(f"/connectors/{name}", json=CONFIG)
    assert answer.status_code == 400, answer.text
    assert "letters, digits" in answer.json()["message"]


STRAY_REQUESTS = {
    ("POST", "/connectors/"): 404,
    ("POST", "/connectors/%ff"): 400,
    ("GET", "/connectors/%ff/status"): 400,
    ("GET", "/connectors"): 404,
    ("GET", "/connectors/a/b/c/d/e"): 404,
    ("GET", "/plugin/nosuch"): 404,
    ("GET", "/allocated"): 404,
    ("GET", "/getClusterInfo/x"): 404,
    ("DELETE", "/connectors/src"): 405,
}


@pytest.mark.parametrize(("method", "path"), STRAY_REQUESTS)
async def test_what_belongs_to_no_original_path_is_refused_in_the_original_form(
    rest: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await rest.request(method, path, json=CONFIG)
    expected = STRAY_REQUESTS[method, path]
    assert (answer.status_code, answer.headers["content-type"]) == (expected, "application/json")
    assert (set(answer.json()), answer.json()["errorCode"]) == ({"errorCode", "message"}, expected)


@pytest.mark.parametrize("path", ["/v1/nosuch", "/nosuch", "/connectorsx", "/v1/connectors/%ff"])
async def test_what_belongs_to_no_other_path_is_refused_as_a_problem(rest: httpx.AsyncClient, path: str) -> None:
    answer = await rest.get(path)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code


async def test_secret_is_never_echoed(rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/connectors/src", json={**CONFIG, "password": "hunter2"})
    assert answer.status_code == 400
    assert "hunter2" not in answer.text
    reference = await rest.post("/connectors/src", json={**CONFIG, "password": "${env:PASSWORD}"})
    assert reference.json()["body"]["password"] == "${env:PASSWORD}"


class LosesTheFirstAnswer:
    """In place of the services: carries every create out, but the answer to the first is lost on the way."""

    def __init__(self) -> None:
        self.stored: dict[str, str] | None = None

    async def ask(self, method: Any, request: Any, answer: Any, *, reads: bool = True) -> Any:
        if method.name == "GetConnector":
            if self.stored is None:
                message = "gone"
                raise NotFound("CONNECTOR_NOT_FOUND", message)
            return answer(connector=c.Connector(name=request.name, config=self.stored))
        if method.name == "MoveSecrets":
            return answer(config=request.config)
        self.stored = dict(request.config)
        message = "it exists"
        raise AlreadyExists("CONNECTOR_EXISTS", message)


async def test_create_whose_answer_was_lost_is_a_success_and_not_a_conflict() -> None:
    from services.gateway.compat.connectors import Connectors

    stored = await Connectors(LosesTheFirstAnswer()).put("src", CONFIG, Call({}, (), b"", ""))  # type: ignore[arg-type]
    assert stored.config == CONFIG


@pytest.mark.parametrize(("headers", "who"), [({}, "127.0.0.1"), ({"X-RocketConnect-Author": "zoë".encode()}, "zoë")])
async def test_every_change_is_kept_with_who_the_headers_name_or_where_it_came_from(
    rest: httpx.AsyncClient, headers: dict[str, Any], who: str
) -> None:
    headers = {**headers, "X-RocketConnect-Reason": "night shift"}
    paths = ("/connectors/src/pause", "/connectors/src/resume", "/connectors/pause/all", "/connectors/src/stop")
    assert (await rest.post("/connectors/src", headers=headers, json=CONFIG)).status_code == 200
    for path in paths:
        assert (await rest.get(path, headers=headers)).status_code == 200
    changes = (await rest.get("/v1/connectors/src/changes")).json()["changes"]
    assert [change["action"] for change in changes] == [
        f"ACTION_{action}" for action in ("DELETE", "PAUSE", "RESUME", "PAUSE", "CREATE")
    ]
    assert {(change["author"], change["reason"]) for change in changes} == {(who, "night shift")}


async def test_what_became_of_a_configuration_is_told_beside_it_in_a_header_and_in_the_log(
    rest: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"connector.class": "org.apache.rocketmq.connect.http.HttpSinkConnector", "url": "h:80", "connect.topicnames": "t"}
    more = {"useKMS": "false", "errors.tolerance": "ALL"}
    answer = await rest.post("/connectors/out", json={**given, **more})
    assert (answer.status_code, answer.json()["body"]["connector.class"]) == (200, "http_sink")
    told = {each["key"]: each for each in answer.json()["warnings"]}
    assert list(told) == ["connector.class", "useKMS", "errors.tolerance"]
    assert told["connector.class"]["reason"].startswith("is http_sink here, with url=http://h:80")
    assert told["useKMS"] == {
        "key": "useKMS",
        "value": "",
        "reason": "is left out: secrets are references",
        "fix": "Nothing is to be done.",
    }
    header = answer.headers["warning"]
    assert header.startswith('299 - "connector.class is http_sink here, with ')
    assert '299 - "useKMS is left out: secrets are references. Nothing is to be done."' in header
    logged = [
        record.__dict__["fields"] for record in caplog.records if record.getMessage() == "a configuration was stored with a warning"
    ]
    assert [(each["connector"], each["key"]) for each in logged] == [("out", key) for key in told]


async def test_a_configuration_of_which_nothing_is_told_has_no_warnings(rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/connectors/src", json=CONFIG)
    assert ("warnings" in answer.json(), "warning" in answer.headers) == (False, False)
