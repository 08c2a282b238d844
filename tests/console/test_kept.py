"""Who one is, what the browser keeps, and orders to several connectors: the console in front of a gateway, without any executor."""

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
from tests.console.browser import Page, browsing
from tests.services.gateway.conftest import executor_service, serving, system

__all__ = ["executor_service", "serving", "system"]

pytestmark = [pytest.mark.slow]

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
ALICE = {"Authorization": "Bearer token-of-alice"}
CONFIG = {"connector.class": "file_source", "filename": "/in.txt", "connect.topicname": "t"}


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    file, soon = tmp_path / "callers", datetime.now(UTC) + timedelta(minutes=10)
    file.write_text(line("alice", Role.WRITE, "token-of-alice") + line("guest", Role.READ, "token-of-guest", soon))
    return file


def signs_in(page: Page, url: str, token: str) -> None:
    page.show(url)
    page.write("input[name=token]", token)
    page.click("button", "Sign in")


def writes(page: Page, url: str) -> None:
    signs_in(page, url, "token-of-alice")
    page.sees("alice", "(reads and orders)")
    page.show(f"{url}#/create/file_source")
    for field, text in (
        ("#connector-name", "kept"),
        ('[name="filename"]', "/in.txt"),
        ("input[type=search]", "password"),
        ('[name="password"]', "hunter2"),
    ):
        page.write(field, text)
    page.until("sessionStorage.getItem('rocketconnect.draft.create file_source')?.includes('/in.txt')")
    assert "hunter2" not in page.run("JSON.stringify(Object.entries(sessionStorage))")
    page.call("Page.reload")
    page.sees("This draft is from before the page was loaded again.", "Not kept, as they may be secrets: password.")
    page.until("Boolean(document.querySelector('[name=password]'))")
    values = "['#connector-name', '[name=filename]', '[name=password]'].map((each) => document.querySelector(each).value)"
    assert page.run(values) == ["kept", "/in.txt", ""]
    assert page.violations() == []
    page.click("button", "Begin anew")
    page.until("document.querySelector('#connector-name').value === ''")
    page.show(f"{url}#/topics/orders?start=first&amount=30")
    page.write('input[aria-label="Name of this filter"]', "from the first")
    page.click("button", "Keep the filter")
    page.show(f"{url}#/topics/orders")
    page.click("a", "from the first")
    page.until("location.hash.includes('start=first') && location.hash.includes('amount=30')")
    assert page.violations() == []
    page.show(f"{url}#/")
    for name in ("first", "second"):
        page.click(f'input[aria-label="Choose {name}"]')
    page.sees("Chosen: 2")
    page.click("button", "Pause")
    page.sees("Pause 2 connectors?")
    page.write("dialog input", "for the night")
    page.click("dialog button", "Pause")
    page.until("document.querySelector('dialog').innerText.match(/The order is taken/g)?.length === 2")
    assert page.violations() == []
    page.click("dialog button", "Close")
    page.click("button", "Sign out")


def reads(page: Page, url: str) -> None:
    signs_in(page, url, "token-of-guest")
    page.sees("guest", "(reads), until", "Your token ends at")
    page.until("[...document.querySelectorAll('button')].find((each) => each.innerText === 'Create a connector').disabled")
    assert "guest may only look" in page.run("document.querySelector('main button[disabled]').title")
    assert page.violations() == []
    assert page.troubles == []


async def test_people_see_who_they_are_find_drafts_and_filters_again_and_pause_several_connectors_at_once(
    system: Any,
    serving: Serving,
    callers: Path,
    tmp_path: Path,
) -> None:
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        for name in ("first", "second"):
            answer = await rest.post("/v1/connectors", json={"name": name, "config": CONFIG}, headers=ALICE)
            assert answer.status_code == 200, answer.text
        with browsing(tmp_path) as page:
            page.is_like()
            await asyncio.to_thread(writes, page, f"{rest.base_url}/")
            await asyncio.to_thread(reads, page, f"{rest.base_url}/")
        for name in ("first", "second"):
            told = (await rest.get(f"/v1/connectors/{name}", headers=ALICE)).json()["connector"]
            assert told["wantedState"] == "WANTED_STATE_PAUSED"
            [change, *_] = (await rest.get(f"/v1/connectors/{name}/changes", headers=ALICE)).json()["changes"]
            assert (change["author"], change["reason"]) == ("alice", "for the night")
