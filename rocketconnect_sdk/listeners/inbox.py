"""What hands the records of clients to the thread of a task, and its answers back."""

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from rocketconnect_sdk.queues import Received


class Outcome(Enum):
    """What has become of what a client has sent."""

    STORED = "stored"
    """The topic has it, and so does whoever asks for it."""
    AGAIN = "again"
    """Nobody knows; it may come again."""
    BUSY = "busy"
    """There is no room for it now; nothing was done."""


class Delivery:
    """What a client has sent at once: records without tags. Made by Inbox."""

    def __init__(self, records: Sequence[Received]) -> None:
        # The last of them is what the answer waits for.
        self.left = deque([*records[:-1], replace(records[-1], tag=self)])
        self.is_begun = False
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Outcome] = self._loop.create_future()

    def settle(self, outcome: Outcome) -> None:
        """Says what has become of it, from any thread."""
        # A loop that has ended waits for nothing.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class Inbox:
    """Where clients put records, and a task takes them. Safe to use from any thread; `deliver` is of the loop of the clients.

    Args:
        most_bytes: So many bytes clients may have sent, or be about to send, that are not answered (invariant 7).
        most_records: So many records the same.
        seconds: How long a client waits for an answer.
    """

    def __init__(self, most_bytes: int, most_records: int, seconds: float) -> None:
        self._most_bytes = most_bytes
        self._most_records = most_records
        self._seconds = seconds
        self._bytes = 0
        self._records = 0
        self._waiting: deque[Delivery] = deque()
        self._open: dict[Delivery, None] = {}
        self._is_closed = False
        self._changed = threading.Condition()

    def reserve(self, size: int) -> bool:
        """Takes room for so many bytes more; False: there is none. What is larger than all of it has room where nothing else is."""
        with self._changed:
            if self._is_closed or (self._bytes and self._bytes + size > self._most_bytes):
                return False
            self._bytes += size
            return True

    def release(self, size: int) -> None:
        """Gives room back."""
        with self._changed:
            self._bytes -= size

    async def deliver(self, records: Sequence[Received]) -> Outcome:
        """Hands records over, at least one, and waits until the topic has all of them. Who calls it holds room for their bytes."""
        delivery = Delivery(records)
        with self._changed:
            if self._is_closed:
                return Outcome.AGAIN
            if self._records and self._records + len(records) > self._most_records:
                return Outcome.BUSY
            self._records += len(records)
            self._waiting.append(delivery)
            self._open[delivery] = None
            self._changed.notify()
        try:
            return await asyncio.wait_for(delivery.outcome, self._seconds)
        except TimeoutError:
            # What nobody has taken yet will not be there.
            return Outcome.AGAIN
        finally:
            with self._changed:
                self._records -= len(records)
                self._open.pop(delivery, None)
                if not delivery.is_begun and delivery in self._waiting:
                    self._waiting.remove(delivery)

    def take(self, limit: int, size: int, seconds: float) -> list[Received]:
        """Some records: at most `limit`, and no more when they have so many bytes. Waits so long for the first one."""
        found: list[Received] = []
        with self._changed:
            if not self._waiting and seconds > 0:
                self._changed.wait(seconds)
            while self._waiting and len(found) < limit and size > 0:
                delivery = self._waiting[0]
                delivery.is_begun = True
                found.append(delivery.left.popleft())
                size -= found[-1].size
                if not delivery.left:
                    self._waiting.popleft()
        return found

    def close(self) -> None:
        """Nothing more is taken, and all who wait are told to come again."""
        with self._changed:
            self._is_closed = True
            left = list(self._open)
        for delivery in left:
            delivery.settle(Outcome.AGAIN)
