"""Settings that change how the gateway answers."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
CONFIG = {"connector.class": "file_source", "filename": "/in", "connect.topicname": "t"}


async def test_compat_status_200_leaves_the_truth_to_the_body(system: Any, serving: Serving) -> None:
    async with serving(system.settings(compat_status="200")) as rest:
        for path in ("/connectors/nosuch/status", "/connectors/nosuch/pause", "/plugin/config"):
            answer = await rest.get(path)
            assert answer.status_code == 200
            assert answer.json()["errorCode"] in (400, 404)
        answer = await rest.post("/connectors/x", content=b"{")
        assert (answer.status_code, answer.json()["errorCode"]) == (200, 400)
        for path, code in (("/connectors/", 404), ("/connectors/%ff", 400)):
            answer = await rest.post(path, json=CONFIG)
            assert (answer.status_code, answer.json()["errorCode"]) == (200, code)
        assert (await rest.get("/v1/connectors/nosuch")).status_code == 404


async def test_gets_that_change_something_can_be_switched_off(system: Any, serving: Serving) -> None:
    async with serving(system.settings(compat_get=False)) as rest:
        assert (await rest.post("/connectors/src", json=CONFIG)).status_code == 200
        changing = ("/connectors/src/stop", "/connectors/src/pause", "/connectors/src/resume", "/connectors/stop/all")
        for path in (*changing, "/connectors/pause/all", "/connectors/resume/all", "/plugin/reload"):
            answer = await rest.get(path)
            assert answer.status_code == 405, path
            assert answer.json()["errorCode"] == 405
            assert "allow" in answer.headers
        assert (await rest.get("/connectors/src", params={"config": "{}"})).headers["allow"] == "POST"
        assert (await rest.get("/connectors/list")).json()["body"]["src"]["info"]["config"] == CONFIG


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"},
        {"Referer": "http://127.0.0.1/"},
        # In the clear, to another address than this machine's, a browser sends nothing else that tells it.
        {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0 Safari/537.36"},
    ],
)
async def test_a_browser_changes_nothing_by_get_and_a_program_does(rest: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await rest.post("/connectors/src", json=CONFIG)).status_code == 200
    for path in ("/connectors/src/pause", "/connectors/src/stop", "/connectors/stop/all", "/plugin/reload"):
        answer = await rest.get(path, headers=headers)
        assert (answer.status_code, answer.json()["errorCode"]) == (403, 403), path
        assert "a browser may change nothing by GET" in answer.json()["message"]
    assert (await rest.get("/connectors/src/config", headers=headers)).status_code == 200
    assert (await rest.get("/connectors/src/stop", headers={"User-Agent": "curl/8"})).status_code == 200


def test_gets_that_change_something_are_answered_by_default_on_this_machine_alone_or_to_who_is_known(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text("")
    addresses: dict[str, Any] = {f"{name}_address": "127.0.0.1:1" for name in ("config", "position", "state", "cluster")}

    def answers(host: str, **more: Any) -> bool:
        return GatewaySettings(host=host, insecure=True, **addresses, **more).changes_by_get

    assert answers("127.0.0.1")
    assert not answers("127.0.0.1", compat_get=False)
    assert not answers("0.0.0.0")
    assert answers("0.0.0.0", compat_get=True)
    assert answers("0.0.0.0", tokens_files=str(callers))


async def test_a_gateway_that_awaits_an_executor_refuses_all_but_probes_until_one_has_joined(system: Any, serving: Serving) -> None:
    for worker in system.workers.workers:
        worker.alive = False
    async with serving(system.settings(await_executor=True)) as rest:
        for answer in (
            await rest.post("/v1/connectors", json={"name": "src", "config": CONFIG}),
            await rest.get("/connectors/list"),
        ):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "no executor has joined yet" in answer.text
        assert (await rest.get("/healthz")).status_code == (await rest.get("/readyz")).status_code == 200
        system.workers.workers[2].alive = True
        assert (await rest.post("/connectors/src", json=CONFIG)).status_code == 200
        system.workers.workers[2].alive = False
        assert list((await rest.get("/connectors/list")).json()["body"]) == ["src"]


async def test_an_executor_that_is_away_is_told_to_come_back_where_it_was_started_together_with_the_gateway(
    system: Any, serving: Serving
) -> None:
    async with serving(system.settings(await_executor=True)) as rest:
        assert (await rest.get("/v1/plugins")).status_code == 200
        await system.nobody_checks()
        answer = await rest.post("/v1/connectors", json={"name": "src", "config": CONFIG})
        assert (answer.status_code, answer.json()["reason"], answer.headers["retry-after"]) == (503, "STARTING", "1")
        assert "`rocketconnect up` starts one that has ended again" in answer.json()["detail"]
        assert "none of those that offer this plugin answers" in answer.json()["detail"]
    async with serving(system.settings()) as rest:
        answer = await rest.post("/v1/connectors", json={"name": "src", "config": CONFIG})
        assert (answer.status_code, answer.json()["reason"]) == (503, "NO_CAPABLE_EXECUTOR")
        assert "start an executor" in answer.json()["detail"]


async def test_head_changes_nothing(rest: httpx.AsyncClient) -> None:
    await rest.post("/connectors/src", json=CONFIG)
    assert (await rest.head("/connectors/src/stop")).status_code == 405
    assert (await rest.get("/connectors/src/config")).status_code == 200


@pytest.mark.slow
async def test_a_service_that_is_away_is_503_with_its_name_and_when_to_come_back(system: Any, serving: Serving) -> None:
    async with serving(system.settings(state_address="127.0.0.1:1")) as rest:
        answer = await rest.get("/v1/states")
        assert (answer.status_code, answer.json()["reason"]) == (503, "SERVICE_AWAY")
        assert answer.json()["metadata"] == {"service": "state"}
        assert int(answer.headers["retry-after"]) > 0
        original = await rest.get("/connectors/x/status")
        assert (original.status_code, original.json()["errorCode"]) == (503, 503)
        assert "state service" in original.json()["message"]
        assert (await rest.get("/v1/connectors")).status_code == 200
        ready = await rest.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["services"] == {"config": "SERVING", "position": "SERVING", "state": "AWAY", "cluster": "SERVING"}
        assert (await rest.get("/healthz")).json() == {"alive": True}


async def test_requests_for_other_names_are_refused(rest: httpx.AsyncClient) -> None:
    port = rest.base_url.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.1", "user@localhost", "localhost:x", ""):
        answer = await rest.get("/v1/connectors", headers={"Host": host})
        assert (answer.status_code, answer.json()["reason"]) == (403, "HOST_NOT_ALLOWED"), host
    for host in ("localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", "[::1]:80"):
        assert (await rest.get("/v1/connectors", headers={"Host": host})).status_code == 200, host


async def test_pages_of_other_origins_change_nothing(rest: httpx.AsyncClient) -> None:
    own = f"http://127.0.0.1:{rest.base_url.port}"
    await rest.post("/connectors/src", json=CONFIG)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        for method, path in (
            ("POST", "/v1/connectors/src:pause"),
            ("GET", "/connectors/src/stop"),
            ("DELETE", "/v1/connectors/src"),
        ):
            answer = await rest.request(method, path, headers=headers)
            assert answer.status_code == 403, (path, headers)
        assert (await rest.get("/v1/connectors/src", headers=headers)).status_code == 200
    for headers in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert (await rest.post("/v1/connectors/src:pause", headers=headers)).status_code == 200


async def test_further_names_and_origins_are_let_in_when_they_are_listed(system: Any, serving: Serving) -> None:
    settings = system.settings(allowed_hosts="gateway, *.example.org", allowed_origins="https://console.example.org")
    async with serving(settings) as rest:
        for host in ("gateway:8082", "connect.example.org"):
            assert (await rest.get("/v1/connectors", headers={"Host": host})).status_code == 200
        headers = {"Origin": "https://console.example.org", "Sec-Fetch-Site": "cross-site"}
        assert (await rest.post("/v1/connectors/x:pause", headers=headers)).status_code == 404
