"""Who may ask over REST."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
CONFIG = {"connector.class": "file_source", "filename": "/in.txt", "connect.topicname": "t"}
TOKENS = {"reader": Role.READ, "alice": Role.WRITE, "worker-1": Role.WORKER, "config": Role.SERVICE}


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    file = tmp_path / "callers"
    file.write_text("".join(line(name, role, f"token-of-{name}") for name, role in TOKENS.items()))
    return file


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def shows(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{name}"}


async def test_who_is_not_known_gets_no_answer_but_whether_it_lives(system: Any, serving: Serving, callers: Path) -> None:
    others = (("GET", "/overview"), ("GET", "/connectors/x/stop"), ("GET", "/kafka-connect/connectors"))
    asked = (("GET", "/v1/connectors"), ("POST", "/v1/connectors"), *others)
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        for headers in ({}, shows("nobody"), {"Authorization": "Basic cmVhZGVyOng="}, {"Authorization": "token-of-alice"}):
            for method, path in asked:
                answer = await rest.request(method, path, headers=headers, json={} if method == "POST" else None)
                assert answer.status_code == 401, (headers, path, answer.text)
                assert answer.headers["WWW-Authenticate"] == 'Bearer realm="rocketconnect"'
        document = (await rest.get("/v1/connectors")).json()
        assert document["reason"] == "NOT_KNOWN"
        assert document["detail"].startswith("who asks is not known; show a token of the file of callers")
        assert "token-of-nobody" not in (await rest.get("/v1/connectors", headers=shows("nobody"))).text
        assert (await rest.get("/healthz")).status_code == 200
        assert (await rest.get("/readyz")).status_code in (200, 503)


@pytest.mark.parametrize(("name", "role"), [("reader", "read"), ("worker-1", "worker")])
async def test_who_may_not_write_changes_nothing(system: Any, serving: Serving, callers: Path, name: str, role: str) -> None:
    asked = [
        ("POST", "/v1/connectors"),
        ("POST", "/v1/connectors:validate"),
        ("DELETE", "/v1/connectors/c"),
        ("POST", "/v1/connectors/c:pause"),
        # What RocketMQ Connect changes by a GET.
        ("GET", "/connectors/c/stop"),
        ("POST", "/connectors/c"),
        ("POST", "/kafka-connect/connectors"),
        ("DELETE", "/kafka-connect/connectors/c/offsets"),
        ("PUT", "/kafka-connect/admin/loggers/root"),
    ]
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        for method, path in asked:
            answer = await rest.request(method, path, headers=shows(name), json={} if method == "POST" else None)
            assert answer.status_code == 403, (path, answer.text)
            assert f"'{name}' has the role {role}, which may not ask for this; use a token with the role write" in answer.text
        looked = await rest.get("/v1/connectors", headers=shows(name))
        assert looked.status_code == (200 if role == "read" else 403)


async def test_who_may_read_may_look_into_topics(system: Any, serving: Serving, callers: Path) -> None:
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        for name, status, reason in (("reader", 503, "NO_EXECUTOR"), ("worker-1", 403, "NOT_ALLOWED")):
            answer = await rest.post("/v1/topics/t:peek", headers=shows(name), json={})
            assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text
        # Nor does a page of another site.
        foreign = {**shows("reader"), "Origin": "https://elsewhere.example"}
        assert (await rest.post("/v1/topics/t:peek", headers=foreign, json={})).json()["reason"] == "ORIGIN_NOT_ALLOWED"


async def test_who_may_write_does_and_is_the_author_whatever_it_says(system: Any, serving: Serving, callers: Path) -> None:
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        headers = {**shows("alice"), "X-RocketConnect-Author": "mallory"}
        body = {"name": "c", "config": CONFIG, "author": "mallory"}
        answer = await rest.post("/v1/connectors", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        changes = (await rest.get("/v1/connectors/c/changes", headers=shows("reader"))).json()["changes"]
        assert [change["author"] for change in changes] == ["alice"]


async def test_everybody_is_told_who_it_is_and_what_it_may_do_and_nobody_its_token(
    system: Any, serving: Serving, callers: Path
) -> None:
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    more = callers.with_name("more")
    _write(more, line("guest", Role.READ, "token-of-guest", ends))
    create, peek = "rocketconnect.config.v1.ConfigService/CreateConnector", "rocketconnect.topic.v1.TopicService/PeekTopic"
    async with serving(system.settings(tokens_files=f"{callers},{more}")) as rest:
        told = {name: await rest.get("/v1/me", headers=shows(name)) for name in (*TOKENS, "guest", "nobody")}
    assert {name: answer.status_code for name, answer in told.items()} == {
        **dict.fromkeys(("reader", "alice", "config", "guest"), 200),
        "worker-1": 403,
        "nobody": 401,
    }
    said = {name: answer.json() for name, answer in told.items() if answer.status_code == 200}
    assert {name: (each["name"], each["role"]) for name, each in said.items()} == {
        "reader": ("reader", "ROLE_READ"),
        "alice": ("alice", "ROLE_WRITE"),
        "config": ("config", "ROLE_SERVICE"),
        "guest": ("guest", "ROLE_READ"),
    }
    assert [create in said[name]["methods"] for name in ("reader", "alice", "config")] == [False, True, True]
    assert [peek in said[name]["methods"] for name in ("reader", "alice", "config")] == [True, True, True]
    assert {name for name, each in said.items() if "expireTime" in each} == {"guest"}
    assert datetime.fromisoformat(said["guest"]["expireTime"]) == ends
    assert not any("token-of" in answer.text or "sha256" in answer.text for answer in told.values())


async def test_where_nobody_is_asked_who_calls_everybody_may_do_everything(rest: httpx.AsyncClient) -> None:
    said = (await rest.get("/v1/me")).json()
    assert (said["name"], said["role"], "expireTime" in said) == ("", "ROLE_UNSPECIFIED", False)
    assert "rocketconnect.config.v1.ConfigService/CreateConnector" in said["methods"]
    assert len(said["methods"]) == len(set(said["methods"]))


async def test_a_stream_ends_with_the_token_that_it_was_asked_for_with(system: Any, serving: Serving, callers: Path) -> None:
    ends = datetime.now(UTC) + timedelta(seconds=3)
    _write(callers, line("guest", Role.READ, "token-of-guest", ends))
    async with serving(system.settings(tokens_files=str(callers))) as rest, asyncio.timeout(20):
        async with rest.stream("GET", "/v1/connectors:watch", headers=shows("guest")) as watch:
            assert watch.status_code == 200
            lines = [line async for line in watch.aiter_lines()]
        assert lines
        assert not any("error" in each for each in lines)
        assert (await rest.get("/v1/me", headers=shows("guest"))).status_code == 401
