"""Secrets over REST: they go in, and never come out."""

import json
import re
from typing import Any

import httpx
import pytest

from rocketconnect_kit.sealing import Keys

SOURCE = "org.apache.rocketmq.connect.file.FileSourceConnector"
CONFIG = {"connector.class": SOURCE, "filename": "/in", "connect.topicname": "t"}
KEYS = Keys([b"k" * 32])
CANARY = "hunter2-canary"


@pytest.fixture
def keys(system: Any) -> Keys:
    """The keystore has keys."""
    system.keystore._keys = KEYS
    return KEYS


async def everything(rest: httpx.AsyncClient) -> str:
    """What all reads say of a connector src."""
    paths = (
        "/connectors/src/config",
        "/connectors/list",
        "/allocated/connectors",
        "/v1/connectors",
        "/v1/connectors/src",
        "/v1/secrets",
    )
    more = ("/v1/connectors/src/revisions", "/v1/connectors/src/changes")
    return "".join([(await rest.get(path)).text for path in (*paths, *more)])


async def test_a_secret_goes_in_and_its_name_comes_out(rest: httpx.AsyncClient, keys: Keys, system: Any) -> None:
    answer = await rest.put("/v1/secrets/db.password", json={"value": CANARY})
    assert answer.status_code == 200
    assert answer.json()["secret"]["name"] == "db.password"
    listed = await rest.get("/v1/secrets")
    assert [each["name"] for each in listed.json()["secrets"]] == ["db.password"]
    assert CANARY not in answer.text + listed.text
    assert keys.open("db.password", system.secrets.get("db.password").sealed) == CANARY
    for path in ("/v1/secrets/db.password", "/v1/secrets/db.password:read", "/v1/secrets/db.password/sealed"):
        assert (await rest.get(path)).status_code in (404, 405)
    assert (await rest.delete("/v1/secrets/db.password")).status_code == 200
    assert (await rest.get("/v1/secrets")).json()["secrets"] == []


@pytest.mark.parametrize(
    "body", [{"value": CANARY, "nam": "x"}, {"value": [CANARY]}, {"valu": CANARY}, CANARY, {"value": CANARY * 9_000}]
)
async def test_a_request_that_is_wrong_is_refused_without_the_secret(rest: httpx.AsyncClient, keys: Keys, body: object) -> None:
    answer = await rest.put("/v1/secrets/a", json=body)
    assert answer.status_code in (400, 413)
    assert CANARY not in answer.text


async def test_without_a_keystore_a_secret_is_refused(rest: httpx.AsyncClient) -> None:
    answer = await rest.put("/v1/secrets/a", json={"value": CANARY})
    assert answer.json()["reason"] == "NO_KEYSTORE"
    assert "--keystore-keys" in answer.text
    literal = await rest.post("/connectors/src", json={**CONFIG, "password": CANARY})
    assert literal.status_code == 400
    assert CANARY not in literal.text


@pytest.mark.parametrize("form", ["post", "get"])
async def test_a_literal_on_the_original_paths_is_moved_and_the_reference_echoed(
    rest: httpx.AsyncClient, keys: Keys, system: Any, form: str
) -> None:
    async def put(**more: str) -> httpx.Response:
        config = {**CONFIG, **more}
        if form == "post":
            return await rest.post("/connectors/src", json=config)
        return await rest.get("/connectors/src", params={"config": json.dumps(config)})

    answer = await put(password=CANARY)
    assert answer.status_code == 200, answer.text
    reference = answer.json()["body"]["password"]
    found = re.fullmatch(r"\$\{keystore:(src\.password\.[0-9a-f]{16})\}", reference)
    assert found
    assert answer.json()["body"] == {**CONFIG, "password": reference}
    assert keys.open(found[1], system.secrets.get(found[1]).sealed) == CANARY
    # Given again, it is the same configuration; and so is what was echoed.
    assert (await put(password=CANARY)).status_code == 409
    assert (await put(password=reference)).status_code == 409
    # Another secret is another revision, and the first one keeps what it had.
    other = await put(password="another-canary")
    assert other.status_code == 200
    assert other.json()["body"]["password"] != reference
    assert (await rest.get("/v1/connectors/src")).json()["connector"]["revision"] == "2"
    assert keys.open(found[1], system.secrets.get(found[1]).sealed) == CANARY
    said = await everything(rest)
    assert reference in said
    assert CANARY not in said
    assert "another-canary" not in said


async def test_v1_refuses_a_literal_also_with_a_keystore(rest: httpx.AsyncClient, keys: Keys) -> None:
    answer = await rest.post("/v1/connectors", json={"name": "s", "config": {**CONFIG, "password": CANARY}})
    assert answer.status_code == 400
    assert "${keystore:NAME}" in answer.text
    assert CANARY not in answer.text
    assert (await rest.get("/v1/secrets")).json()["secrets"] == []
