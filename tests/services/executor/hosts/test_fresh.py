"""Questions that wait for their turn."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_kit.errors import ResourceExhausted
from services.executor.hosts import fresh
from services.executor.hosts.fresh import FreshHosts
from services.executor.hosts.scratch import Scratch


async def test_so_many_wait_and_the_next_one_is_told_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "MOST_WAITING", 3)
    hosts = FreshHosts(Scratch(tmp_path), {}, at_most=1)
    question: Any = object()
    begun = asyncio.Event()

    def take(on_event: Any, on_exit: Any) -> Any:
        begun.set()
        raise OSError("no process")

    monkeypatch.setattr(hosts, "take", take)
    await hosts._turns.acquire()
    waiting = [asyncio.create_task(hosts.ask(question, 5, "x")) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted, match="3 checks of configurations, previews and comparisons wait") as refused:
        await hosts.ask(question, 5, "x")
    assert refused.value.reason == "TOO_MANY_CHECKS"
    # Who gives up makes room for another one.
    waiting.pop().cancel()
    await asyncio.sleep(0)
    waiting.append(asyncio.create_task(hosts.ask(question, 5, "x")))
    hosts._turns.release()
    for each in waiting:
        with pytest.raises(fresh.PluginCrashed, match="no process"):
            await each
    assert begun.is_set()
    await hosts.close()
