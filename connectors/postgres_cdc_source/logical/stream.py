"""The stream of a slot's messages.

https://www.postgresql.org/docs/current/protocol-replication.html (START_REPLICATION, XLogData, primary keepalive message, standby
status update) and https://www.postgresql.org/docs/current/protocol-logical-replication.html (the options of pgoutput).
"""

import math
import os
import select
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from types import TracebackType
from typing import Self

import psycopg
from psycopg import pq

from connectors.postgres_cdc_source.logical.connection import (
    Address,
    command,
    connect_replication,
    failed_result,
    failure,
    quoted,
)
from connectors.postgres_cdc_source.logical.lsn import format_lsn
from connectors.postgres_cdc_source.logical.wire.parts import EPOCH_US
from connectors.postgres_cdc_source.logical.wire.runs import HEADER
from rocketconnect_sdk.errors import SystemAway

MOST_MESSAGES = 4_000
MOST_BYTES = 8 << 20
_STATUS_SECONDS = 5.0
"""How often the server hears of us, and a quarter of wal_sender_timeout at most: then it gives up."""
_SILENCE_SECONDS = 60.0
"""It answers each time it hears of us; without a word for so long it is away."""

_MESSAGE, _KEEPALIVE = b"wk"
_COMMITS = b"Cc"
_keepalive = Struct(">xQqB").unpack
_lsn = Struct(">xQ").unpack_from
_status = Struct(">cQQQqB").pack


class StreamClosed(Exception):
    """Somebody closed the stream, before or while it was read."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What came since the last one.

    Attributes:
        frames: Messages in their XLogData, as Decoder.decode_frames takes them.
        reached: When all frames up to here are done, so is all of the log before this place. It may be confirmed, so that the
            server can remove its log also when nothing comes for a long time. 0: not known yet.
    """

    frames: list[bytes]
    reached: int


class Stream:
    """Reads a slot from a place in the log on. One thread reads; confirm and close may be called by any.

    A thread of its own tells the server that we are there, however long the reader takes.

    A server that stops in good order waits until everything is confirmed. One that starts again may have forgotten what was
    confirmed last: `start` is what counts.

    Args:
        address: The database.
        slot: The slot.
        publications: What it is to give.
        start: The end of the last transaction that is done; 0: where the slot stands.
        streaming: Large transactions are sent while in progress (protocol version 2): the decoder then gives StreamStart and so on.
        status_seconds: How often the server hears of us at least.

    Raises:
        SystemAway: the server cannot be reached.
        RetriableError: the slot is in use; the text has the process.
        PermanentError: there is no such slot, it is invalid, or the role may not.
    """

    def __init__(
        self,
        address: Address,
        slot: str,
        publications: Sequence[str],
        start: int,
        *,
        streaming: bool = False,
        status_seconds: float = _STATUS_SECONDS,
    ) -> None:
        self._connection = connect_replication(address)
        self._waker, self._woken = os.pipe()
        self._poll = select.poll()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._confirmed = start
        self._given = start
        self._reached = 0
        self._heard = time.monotonic()
        try:
            # What TLS has taken from the socket does not make it readable; it is at most two buffers more.
            self._asks = 3 if self._connection.ssl_in_use else 1
            often = min(status_seconds, _patience(self._connection) / 4)
            command(self._connection, _start(slot, publications, start, streaming=streaming))
            self._poll.register(self._connection.socket, select.POLLIN)
        except BaseException as error:
            os.close(self._woken)
            self._finish()
            if isinstance(error, psycopg.Error):
                # The server ended in the meantime.
                raise failure(error.sqlstate, str(error)) from None
            raise
        self._poll.register(self._waker, select.POLLIN)
        self._keeper = threading.Thread(target=self._keep, args=[often], name=f"slot-{slot}", daemon=True)
        self._keeper.start()

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def read(self, timeout: float, *, most_messages: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES) -> Batch:
        """What came, as soon as there is something.

        Args:
            timeout: So many seconds are waited for it; then the batch has no messages.
            most_messages: No more than this.
            most_bytes: No more after so many bytes; one message is given however large it is.

        Raises:
            StreamClosed: see close.
            SystemAway: the connection broke, or the server says nothing any more.
            PermanentError: the server cannot go on; says why.
        """
        deadline = time.monotonic() + timeout
        while True:
            frames: list[bytes] = []
            try:
                with self._lock:
                    self._take(frames, most_messages, most_bytes)
            except psycopg.Error as error:
                raise failure(error.sqlstate, str(error)) from None
            now = time.monotonic()
            if frames:
                self._heard = now
            if frames or now >= deadline:
                return Batch(frames, self._reached)
            if now - self._heard > _SILENCE_SECONDS:
                msg = f"PostgreSQL has not answered for {_SILENCE_SECONDS:.0f} s"
                raise SystemAway(msg)
            self._poll.poll((min(deadline, self._heard + _SILENCE_SECONDS) - now) * 1000)

    def confirm(self, lsn: int) -> None:
        """Tells the server that everything before a place is done: it does not send it again, and may remove it.

        Args:
            lsn: The end of a transaction that was read, or what a batch has reached.

        Raises:
            ValueError: that was not read yet.
        """
        with self._lock:
            if lsn > max(self._given, self._reached):
                msg = f"{format_lsn(lsn)} lies behind what was read, which ends at {format_lsn(max(self._given, self._reached))}"
                raise ValueError(msg)
            self._confirmed = max(self._confirmed, lsn)
            # Whoever reads sees what is wrong with the connection.
            with suppress(psycopg.Error):
                self._say(answer=False)

    def close(self) -> None:
        """Ends the stream at once, from whatever thread; a reader gets StreamClosed. May be called twice."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
        os.close(self._woken)
        self._keeper.join()
        with self._lock:
            self._finish()

    def _take(self, frames: list[bytes], most_messages: int, most_bytes: int) -> None:
        """Collects what is there, without waiting."""
        get, add = self._connection.get_copy_data, frames.append
        size = asked = 0
        while len(frames) < most_messages and size < most_bytes:
            if self._closed.is_set():
                msg = "the stream is closed"
                raise StreamClosed(msg)
            length, view = get(1)
            if length > 0:
                asked = 0
                data = bytes(view)
                if data[0] == _MESSAGE:
                    add(data)
                    size += length
                    if length > HEADER and data[HEADER] in _COMMITS:
                        self._given = max(self._given, _lsn(data)[0])
                elif data[0] == _KEEPALIVE:
                    self._keepalive(data)
            elif length < 0:
                raise self._ended()
            elif asked == self._asks:
                return
            else:
                self._connection.consume_input()
                asked += 1

    def _keepalive(self, data: bytes) -> None:
        self._heard = time.monotonic()
        # It may ask for an answer. It hears of us often enough; one that stops would ask again at once.
        self._reached = _keepalive(data)[0]

    def _ended(self) -> Exception:
        result = self._connection.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            return failed_result(result)
        return SystemAway("PostgreSQL ended the stream: it is stopping")

    def _keep(self, seconds: float) -> None:
        while not self._closed.wait(seconds):
            with self._lock, suppress(psycopg.Error):
                self._say(answer=True)

    def _say(self, *, answer: bool) -> None:
        """The status: what was received, what is done for good, and what is done."""
        if self._closed.is_set():
            return
        now = time.time_ns() // 1000 - EPOCH_US
        received = max(self._given, self._reached, self._confirmed)
        self._connection.put_copy_data(_status(b"r", received, self._confirmed, self._confirmed, now, answer))
        self._connection.flush()

    def _finish(self) -> None:
        self._connection.finish()
        os.close(self._waker)


def _patience(connection: pq.abc.PGconn) -> float:
    """How many seconds the server waits for a word of us."""
    result = command(connection, "SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout'")
    return int(result.get_value(0, 0) or 0) / 1000 or math.inf


def _start(slot: str, publications: Sequence[str], start: int, *, streaming: bool) -> str:
    names = ",".join(map(quoted, publications)).replace("'", "''")
    options = [f"proto_version '{2 if streaming else 1}'", f"publication_names '{names}'", "messages 'true'"]
    if streaming:
        options.append("streaming 'on'")
    return f"START_REPLICATION SLOT {quoted(slot)} LOGICAL {format_lsn(start)} ({', '.join(options)})"
