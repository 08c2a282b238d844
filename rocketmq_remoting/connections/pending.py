"""Requests under way."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from rocketmq_remoting.errors import ConnectionLost, RequestTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocketmq_remoting.errors import RocketMQError
    from rocketmq_remoting.protocol.frame import Frame

T_co = TypeVar("T_co", covariant=True)

_log = logging.getLogger(__name__)
_callbacks_lock = threading.Lock()
# The client expires requests on its own; a waiter trusts that, with this much patience.
_EXPIRY_SLACK = 2.0


class Pending(Generic[T_co]):
    """The future answer to one request; it always ends, at its deadline at the latest.

    Safe for concurrent use. The answer is decoded in the thread that asks for it first, not in the connection's.
    """

    __slots__ = ("_callbacks", "_error", "_gate", "_read", "_value", "asks", "deadline", "frame", "what")

    def __init__(self, read: Callable[[Frame], T_co], deadline: float, what: str, *, asks: bool = False) -> None:
        self.deadline = deadline
        self.what = what
        self.asks = asks
        """It changes nothing, whether it was answered or not."""
        self.frame: Frame | None = None
        self._read: Callable[[Frame], T_co] | None = read
        self._value: T_co | None = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Pending[T_co]], None]] | None = []
        self._gate = threading.Lock()
        self._gate.acquire()

    def done(self) -> bool:
        """Whether the answer, or a failure, is there."""
        return self._callbacks is None

    def result(self, timeout: float | None = None) -> T_co:
        """Wait for the answer and return it decoded.

        Args:
            timeout: seconds; default: until the request's own deadline.

        Raises:
            RocketMQError: the request failed.
            TimeoutError: `timeout` passed; the request is still under way. Not without `timeout`.
        """
        patience = max(self.deadline - time.monotonic(), 0.0) + _EXPIRY_SLACK if timeout is None else max(timeout, 0.0)
        if not self._gate.acquire(timeout=patience):
            if timeout is None:
                # A process that was stopped for long can wake here before it has noticed elsewhere that the time is over.
                raise self.late()
            msg = f"{self.what}: not answered within {patience:.3f} s and still under way"
            raise TimeoutError(msg)
        try:
            if self._error is None and self._read is not None and self.frame is not None:
                try:
                    self._value = self._read(self.frame)
                except Exception as error:
                    self._error = error
                self._read = None
            if self._error is not None:
                raise self._error
            return self._value  # type: ignore[return-value]
        finally:
            self._gate.release()

    def late(self) -> RequestTimeout:
        """The failure of a request whose deadline has passed."""
        return RequestTimeout(f"{self.what}: no answer in time{'' if self.asks else '; it may or may not have taken effect'}")

    def lost(self, fault: str) -> ConnectionLost:
        """The failure of a request whose connection has ended."""
        effect = "" if self.asks else "; the request may or may not have taken effect"
        return ConnectionLost(f"{self.what}: the connection was lost before the answer ({fault}){effect}")

    def add_done_callback(self, callback: Callable[[Pending[T_co]], None]) -> None:
        """Call `callback(self)` when the answer is there: at once, or in the connection's thread, so it must be short."""
        with _callbacks_lock:
            if self._callbacks is not None:
                self._callbacks.append(callback)
                return
        callback(self)

    def answer(self, frame: Frame) -> None:
        """Set the answer; the connection calls this or `fail`, once."""
        self.frame = frame
        self._finish()

    def fail(self, error: RocketMQError) -> None:
        """Set the failure; the connection calls this or `answer`, once."""
        self._error = error
        self._finish()

    def _finish(self) -> None:
        with _callbacks_lock:
            callbacks, self._callbacks = self._callbacks, None
        self._gate.release()
        for callback in callbacks or ():
            try:
                callback(self)
            except Exception:
                # One caller's fault must not end the connection that all others share.
                _log.exception("a callback of %s failed", self.what)
