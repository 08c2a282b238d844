"""What watchers are woken by."""

import asyncio
import itertools
import threading

import pytest

from services.config.feed import ChangeFeed


async def test_watchers_hear_of_a_write_whose_caller_went_away_before_it_ended() -> None:
    feed, may_end, ended = ChangeFeed(None), threading.Event(), threading.Event()

    def write() -> None:
        may_end.wait()
        ended.set()

    change = feed.next_change()
    writing = asyncio.create_task(feed.write(write))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    may_end.set()
    async with asyncio.timeout(60):
        await change.wait()
    assert ended.is_set()


async def test_a_look_at_other_replicas_that_fails_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.config.feed.POLL_SECONDS", 0.01)
    calls = itertools.count(1)

    def sequence() -> int:
        call = next(calls)
        if call == 2:
            raise ZeroDivisionError
        return call

    feed = ChangeFeed(sequence)
    async with feed.running(), feed.watcher(), asyncio.timeout(60):
        await feed.next_change().wait()
        await feed.next_change().wait()
