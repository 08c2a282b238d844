import asyncio
import json
from typing import Any

import httpx
import prometheus_client
import pytest
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as state

from services.gateway.api.rules import rules

CONFIG = {"connector.class": "file_source", "filename": "/in", "connect.topicname": "t"}


async def create(rest: httpx.AsyncClient, name: str, **more: Any) -> dict[str, Any]:
    answer = await rest.post("/v1/connectors", json={"name": name, "config": CONFIG, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["connector"])


async def test_connector_is_created_changed_listed_and_deleted(rest: httpx.AsyncClient) -> None:
    made = await create(rest, "orders")
    assert (made["name"], made["revision"], made["type"]) == ("orders", "1", "CONNECTOR_TYPE_SOURCE")
    changed = await rest.put("/v1/connectors/orders", json={"config": {**CONFIG, "filename": "/other"}, "etag": made["etag"]})
    assert changed.json()["connector"]["revision"] == "2"
    assert (await rest.get("/v1/connectors/orders")).json()["connector"]["config"]["filename"] == "/other"
    assert (await rest.post("/v1/connectors/orders:pause")).json()["connector"]["wantedState"] == "WANTED_STATE_PAUSED"
    rolled = await rest.post("/v1/connectors/orders:rollback", json={"revision": 1})
    assert rolled.json()["connector"]["config"] == CONFIG
    revisions = (await rest.get("/v1/connectors/orders/revisions")).json()["revisions"]
    assert [each["revision"] for each in revisions] == ["3", "2", "1"]
    assert (await rest.delete("/v1/connectors/orders")).status_code == 200
    assert (await rest.get("/v1/connectors")).json() == {"connectors": [], "nextPageToken": ""}


async def test_list_is_paged_by_query_parameters_in_both_spellings(rest: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await create(rest, name)
    first = (await rest.get("/v1/connectors", params={"pageSize": 2})).json()
    rest_of_it = (await rest.get("/v1/connectors", params={"page_size": "2", "page_token": first["nextPageToken"]})).json()
    assert [each["name"] for each in first["connectors"] + rest_of_it["connectors"]] == ["a", "b", "c"]
    assert rest_of_it["nextPageToken"] == ""


async def test_same_request_id_is_the_same_create_and_another_one_conflicts(rest: httpx.AsyncClient) -> None:
    made = await create(rest, "orders", requestId="r1")
    assert (await create(rest, "orders", request_id="r1"))["uid"] == made["uid"]
    answer = await rest.post("/v1/connectors", json={"name": "orders", "config": CONFIG})
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["reason"] == "CONNECTOR_EXISTS"


async def test_stale_etag_is_409_and_nothing_is_written(rest: httpx.AsyncClient) -> None:
    await create(rest, "orders")
    answer = await rest.put("/v1/connectors/orders", json={"config": {**CONFIG, "filename": "/x"}, "etag": "old"})
    assert (answer.status_code, answer.json()["reason"]) == (409, "ETAG_MISMATCH")
    assert (await rest.get("/v1/connectors/orders")).json()["connector"]["revision"] == "1"


async def test_everything_wrong_with_a_configuration_is_in_one_answer(rest: httpx.AsyncClient) -> None:
    answer = await rest.post(
        "/v1/connectors", json={"name": "bad", "config": {"connector.class": "file_source", "max.tasks": "abc"}}
    )
    assert answer.status_code == 400
    problem = answer.json()
    assert {each["key"] for each in problem["problems"]} == {"filename", "connect.topicname", "max.tasks"}
    assert next(each for each in problem["problems"] if each["key"] == "max.tasks") == {
        "key": "max.tasks",
        "value": "abc",
        "reason": "is not a number",
        "fix": "use 1 to 1000",
    }
    assert set(problem) == {"type", "title", "status", "detail", "reason", "metadata", "problems"}
    assert (await rest.get("/v1/connectors/bad")).status_code == 404


async def test_literal_secret_is_refused_and_not_repeated(rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/v1/connectors", json={"name": "s", "config": {**CONFIG, "password": "hunter2"}})
    assert answer.status_code == 400
    assert "${env:NAME}" in answer.text
    assert "hunter2" not in answer.text
    misplaced = await rest.post("/v1/connectors", json={"name": "s", "password": "hunter2", "config": {"password": 12345}})
    assert {each["key"] for each in misplaced.json()["problems"]} == {"password", "config.password"}
    assert "hunter2" not in misplaced.text
    assert "12345" not in misplaced.text


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ({"nam": "x", "conf": {}, "name": "y"}, {"nam", "conf"}),
        ({"name": 5, "config": {"a": 1, "b": None, "c": "ok", "d": [1]}}, {"name", "config.a", "config.b", "config.d"}),
        ({"config": []}, {"config"}),
        ({"requestId": "a", "request_id": "b"}, {"request_id"}),
        ({"wantedState": "GO", "name": []}, {"wantedState", "name"}),
        ({"wantedState": 99}, {"wantedState"}),
        ({"wantedState": True}, {"wantedState"}),
        ({"name": {}}, {"name"}),
    ],
)
async def test_every_field_that_does_not_fit_is_named(rest: httpx.AsyncClient, body: object, keys: set[str]) -> None:
    answer = await rest.post("/v1/connectors", json=body)
    assert answer.status_code == 400
    assert {each["key"] for each in answer.json()["problems"]} == keys
    assert all(each["reason"] and each["fix"] for each in answer.json()["problems"])


async def test_fields_of_nested_messages_are_checked_too(rest: httpx.AsyncClient) -> None:
    good = await rest.post("/v1/connectors/x/positions:alter", json={"positions": [{"partition": "p", "offset": "[1]"}]})
    assert good.json()["positions"][0]["offset"] == "[1]"
    bad = {"positions": [{"partition": "p", "ofset": "[1]"}, 5, {"incarnation": "x", "updateTime": "yesterday"}]}
    answer = await rest.post("/v1/connectors/x/positions:alter", json=bad)
    keys = {each["key"] for each in answer.json()["problems"]}
    assert keys == {"positions[0].ofset", "positions[1]", "positions[2].incarnation", "positions[2].updateTime"}


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/v1/connectors?pagesize=1&pageSize=x&pageSize=2", 400, "REQUEST_MALFORMED"),
        ("GET", "/v1/connectors?pageSize=1e400", 400, "REQUEST_MALFORMED"),
        ("GET", "/v1/connectors?pageSize=-1", 400, "PAGE_SIZE_INVALID"),
        ("GET", "/v1/connectors?pageToken=nonsense", 400, "PAGE_TOKEN_INVALID"),
        ("GET", "/v1/connectors?pageToken=%ff", 400, "QUERY_ENCODING"),
        ("GET", "/v1/connectors?" + "&".join(["a=1"] * 101), 400, "QUERY_TOO_LONG"),
        ("POST", "/v1/connectors/x:pause?force=1", 400, "REQUEST_MALFORMED"),
        ("GET", "/v1/connectors/%ff", 400, "PATH_ENCODING"),
        ("GET", "/v1/connectors/nosuch", 404, "CONNECTOR_NOT_FOUND"),
        ("GET", "/v1/connectors/a%2Fb", 404, "CONNECTOR_NOT_FOUND"),
        ("GET", "/v1/connectors/%00", 404, "CONNECTOR_NOT_FOUND"),
        ("DELETE", "/v1/connectors/nosuch", 404, "CONNECTOR_NOT_FOUND"),
        ("POST", "/v1/connectors/nosuch:pause", 404, "CONNECTOR_NOT_FOUND"),
        ("POST", "/v1/connectors/x:explode", 404, "NO_SUCH_PATH"),
        ("GET", "/v1/nothing", 404, "NO_SUCH_PATH"),
        ("GET", "/v1/connectors/", 404, "NO_SUCH_PATH"),
        ("POST", "/v1/connectors/x/positions:reset", 400, "NOT_STOPPED"),
        ("GET", "/v1/assignments", 500, "INTERNAL"),
    ],
)
async def test_refusals(rest: httpx.AsyncClient, method: str, path: str, status: int, reason: str) -> None:
    answer = await rest.request(method, path)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text
    assert answer.json()["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in answer.text
    assert "ZeroDivision" not in answer.text


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 400, "BODY_MISSING"),
        (b"  \n", 400, "BODY_MISSING"),
        (b"{", 400, "BODY_NOT_JSON"),
        (b"hello", 400, "BODY_NOT_JSON"),
        (b'{"name": "a",}', 400, "BODY_NOT_JSON"),
        (b'{"name": "a", "name": "b"}', 400, "BODY_NOT_JSON"),
        (b'{"a": NaN}', 400, "BODY_NOT_JSON"),
        (b"1" * 5000, 400, "BODY_NOT_JSON"),
        (b"[" * 100_000, 400, "BODY_NOT_JSON"),
        (b'{"a":' * 100_000, 400, "BODY_NOT_JSON"),
        (b"[1,2]", 400, "BODY_NOT_AN_OBJECT"),
        (b"null", 400, "BODY_NOT_AN_OBJECT"),
        (b"5", 400, "BODY_NOT_AN_OBJECT"),
        (b"\xff\xfe", 400, "BODY_NOT_UTF8"),
        (b'{"name": "\\ud800"}', 400, "BODY_NOT_UTF8"),
        (b'{"name": "' + b"x" * 1_048_576 + b'"}', 413, "BODY_TOO_LARGE"),
    ],
)
async def test_body_that_cannot_be_meant_is_refused(rest: httpx.AsyncClient, body: bytes, status: int, reason: str) -> None:
    answer = await rest.post("/v1/connectors", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


async def test_body_without_length_is_limited_too(rest: httpx.AsyncClient) -> None:
    async def endless() -> Any:
        for _ in range(300):
            yield b" " * 10_000

    answer = await rest.post("/v1/connectors", content=endless())
    assert answer.status_code == 413
    # The connection was told to close; the next request gets another one and is answered.
    assert (await rest.get("/healthz")).status_code == 200


async def test_other_content_types_are_415_and_say_what_is_taken(rest: httpx.AsyncClient) -> None:
    answer = await rest.post("/v1/connectors", content=b"<x/>", headers={"Content-Type": "application/xml"})
    assert answer.status_code == 415
    assert answer.headers["accept"] == "application/json"


async def test_other_methods_are_405_with_the_allowed_ones(rest: httpx.AsyncClient) -> None:
    answer = await rest.patch("/v1/connectors/x")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PUT")
    answer = await rest.get("/v1/connectors/x:pause")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await rest.options("/v1/connectors")).status_code == 405


async def test_get_takes_no_body_and_head_gives_none(rest: httpx.AsyncClient) -> None:
    assert (await rest.request("GET", "/v1/connectors", content=b"{}")).json()["reason"] == "BODY_NOT_EXPECTED"
    answer = await rest.head("/v1/connectors")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_name_in_body_and_path_must_agree(rest: httpx.AsyncClient) -> None:
    await create(rest, "orders")
    other = await rest.post("/v1/connectors/orders:pause", json={"name": "others"})
    assert [each["key"] for each in other.json()["problems"]] == ["name"]
    assert (await rest.post("/v1/connectors/orders:pause", json={"name": "orders"})).status_code == 200


async def test_watch_gives_one_object_a_line_and_the_status_of_what_is_refused_at_once(
    rest: httpx.AsyncClient, system: Any
) -> None:
    assert (await rest.get("/v1/connectors/orders/state:watch")).status_code == 404
    system.states.say("orders", state.ConnectorState(connector="orders", state=connector_pb2.STATE_STARTING))
    async with rest.stream("GET", "/v1/connectors/orders/state:watch", params={"interval": "0.1s"}) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = answer.aiter_lines()
        assert json.loads(await anext(lines))["state"]["state"] == "STATE_STARTING"
        system.states.say("orders", state.ConnectorState(connector="orders", state=connector_pb2.STATE_RUNNING))
        assert json.loads(await anext(lines))["state"]["state"] == "STATE_RUNNING"
        del system.states.by_name["orders"]
        system.states.changed.set()
        last = json.loads(await anext(lines))
        assert last["error"]["reason"] == "CONNECTOR_NOT_FOUND"
        with pytest.raises(StopAsyncIteration):
            await anext(lines)


async def test_watch_of_connectors_shows_what_changes(rest: httpx.AsyncClient) -> None:
    async with rest.stream("GET", "/v1/connectors:watch") as answer:
        lines = answer.aiter_lines()
        assert json.loads(await anext(lines))["snapshot"] is True
        await create(rest, "orders")
        change = json.loads(await asyncio.wait_for(anext(lines), 5))
        assert [each["name"] for each in change["connectors"]] == ["orders"]


async def test_watch_ends_behind_the_gateway_when_its_reader_goes_away(rest: httpx.AsyncClient) -> None:
    def open_watches() -> float:
        labels = {"method": "/rocketconnect.config.v1.ConfigService/WatchConnectors"}
        return prometheus_client.REGISTRY.get_sample_value("rocketconnect_rpc_calls_running", labels) or 0

    before = open_watches()
    async with rest.stream("GET", "/v1/connectors:watch") as answer:
        await anext(answer.aiter_lines())
        assert open_watches() == before + 1
    async with asyncio.timeout(5):
        while open_watches() > before:
            await asyncio.sleep(0.05)
    assert (await rest.head("/v1/connectors:watch")).headers["allow"] == "GET"


async def test_a_slow_service_is_504_and_named(rest: httpx.AsyncClient, system: Any) -> None:
    system.workers.delay = 10
    answer = await rest.get("/v1/workers")
    assert (answer.status_code, answer.json()["reason"]) == (504, "SERVICE_TIMEOUT")
    assert answer.json()["metadata"] == {"service": "cluster"}


def test_every_annotated_rpc_has_a_route() -> None:
    assert len({(rule.verb, rule.template) for rule in rules()}) == len(rules()) == 52
