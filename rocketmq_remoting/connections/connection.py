"""One pipelined connection: many requests under way, answers matched by number in whatever order they come."""

from __future__ import annotations

import logging
import math
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from rocketmq_remoting.connections.clock import boot_seconds
from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import DeadlinePassed, NotSent, ProtocolError
from rocketmq_remoting.protocol.codes import ASKING, ResponseCode
from rocketmq_remoting.protocol.frame import (
    PREFIX_BYTES,
    Frame,
    Serialization,
    decode_frame,
    decode_prefix,
    encode_head,
)
from rocketmq_remoting.protocol.signature import Credentials, sign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocketmq_remoting.connections.transport import Transport
    from rocketmq_remoting.protocol.requests import Request

T = TypeVar("T")

_log = logging.getLogger(__name__)
_OPAQUE_LIMIT = 1 << 31


class Connection:
    """A connection with its reading thread. Safe for concurrent use.

    It ends at the first fault: whatever is under way then fails with `ConnectionLost`, and nothing more can be sent.
    """

    def __init__(self, address: str, transport: Transport, credentials: Credentials | None) -> None:
        self.address = address
        self._transport = transport
        self._credentials = credentials
        self._opaques = count()
        self._pending: dict[int, Pending[object]] = {}
        self._write_lock = threading.Lock()
        self._fault: str | None = None
        self._reader = threading.Thread(target=self._read, name=f"rocketmq {address}", daemon=True)
        self._reader.start()

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._fault is None

    def submit(
        self,
        request: Request,
        read: Callable[[Frame], T],
        *,
        timeout: float,
        what: str,
        not_after: float | None = None,
    ) -> Pending[T]:
        """Write a request and return its future answer.

        Args:
            request: the request.
            read: turns the answer into a result, in the thread that asks for it.
            timeout: seconds until the answer must be there.
            what: what is tried, for error messages.
            not_after: time (`clock.boot_seconds`) after which no byte of the request may be written.

        Raises:
            NotSent: the connection is closed, or broke before the last byte; the request had no effect.
            DeadlinePassed: `not_after` had passed; nothing was written.
        """
        return self.submit_all([(request, read)], timeout=timeout, what=what, not_after=not_after)[0]

    def submit_all(
        self,
        calls: Sequence[tuple[Request, Callable[[Frame], T]]],
        *,
        timeout: float,
        what: str,
        not_after: float | None = None,
    ) -> list[Pending[T]]:
        """Write requests in one go and return their future answers, in order; arguments and errors as `submit`."""
        deadline = time.monotonic() + timeout
        give_up_at = min(boot_seconds() + timeout, math.inf if not_after is None else not_after)
        what_where = f"{what} at {self.address}"
        under_way: dict[int, Pending[T]] = {}
        buffers: list[bytes] = []
        for request, read in calls:
            opaque = next(self._opaques) % _OPAQUE_LIMIT
            fields = request.fields
            if self._credentials is not None:
                fields = sign(self._credentials, fields, request.body)
            buffers += (encode_head(request.code, opaque, fields, len(request.body)), request.body)
            under_way[opaque] = Pending(read, deadline, what_where, asks=request.code in ASKING)
        with self._write_lock:
            if self._fault is not None:
                message = f"{what}: the connection to {self.address} is closed ({self._fault})"
                raise NotSent(message)
            if not_after is not None and boot_seconds() > not_after:
                message = f"{what}: not written, its time had passed"
                raise DeadlinePassed(message)
            self._pending.update(under_way)
            broken = self._write(buffers, give_up_at)
        if broken is not None:
            # The server drops a request whose last byte never came, so a single one had no effect.
            for opaque in under_way:
                self._pending.pop(opaque, None)
            self._end(f"writing failed: {broken}")
            message = f"{what}: the connection to {self.address} broke while writing: {broken}"
            raise NotSent(message) from broken
        if not self.is_open:
            # The reading thread may have ended between the check and the entry, and would not see these.
            self._fail_all(str(self._fault))
        return list(under_way.values())

    def _write(self, buffers: Sequence[bytes], give_up_at: float) -> OSError | ValueError | None:
        try:
            self._transport.write(buffers, give_up_at)
        except (OSError, ValueError) as error:
            # ValueError: the reading thread has closed the socket while this one waited for room in it.
            # Nobody may write after half a frame. What is under way is failed later, without the lock.
            self._fault = f"writing failed: {error}"
            return error
        return None

    def expire(self, now: float) -> float:
        """Fail the requests whose deadline has passed; return the earliest deadline of the others, infinity when there are none."""
        next_deadline = math.inf
        for opaque, pending in list(self._pending.items()):
            if pending.deadline >= now:
                next_deadline = min(next_deadline, pending.deadline)
            elif self._pending.pop(opaque, None) is not None:
                pending.fail(pending.late())
        return next_deadline

    def close(self) -> None:
        """End the connection; requests under way fail with `ConnectionLost`."""
        self._end("closed by this client")
        if threading.current_thread() is not self._reader:
            self._reader.join(timeout=5)

    def _read(self) -> None:
        try:
            while True:
                frame = self._read_frame()
                if frame.is_response:
                    pending = self._pending.pop(frame.opaque, None)
                    if pending is not None:
                        pending.answer(frame)
                elif not frame.is_oneway:
                    self._refuse(frame)
        except (OSError, EOFError, ProtocolError, ValueError) as error:
            # ValueError: the stream was closed by another thread while this one was about to read.
            self._end(str(error) or type(error).__name__)
        except BaseException as error:
            # Whatever it is, such as a lack of memory: nobody must wait on a connection that is not read any more.
            self._end(f"{type(error).__name__}: {error}")
            raise

    def _read_frame(self) -> Frame:
        serialization, header_length, body_length = decode_prefix(self._read_exactly(PREFIX_BYTES))
        header = self._read_exactly(header_length)
        body = self._read_exactly(body_length) if body_length else b""
        return decode_frame(serialization, header, body)

    def _read_exactly(self, size: int) -> bytes:
        data = self._transport.read(size)
        if len(data) < size:
            raise EOFError("the server closed the connection")
        return data

    def _refuse(self, frame: Frame) -> None:
        """Answer a server's question, such as an admin tool's, that this client has no answer to."""
        head = encode_head(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED, frame.opaque, {}, 0, response=True, serialization=Serialization.JSON
        )
        with self._write_lock:
            self._transport.write([head], boot_seconds() + 1)

    def _end(self, fault: str) -> None:
        if self._fault is None:
            self._fault = fault
            _log.debug("connection to %s ends: %s", self.address, fault)
        self._transport.close()
        self._fail_all(self._fault)

    def _fail_all(self, fault: str) -> None:
        while self._pending:
            try:
                _, pending = self._pending.popitem()
            except KeyError:
                return
            pending.fail(pending.lost(fault))
