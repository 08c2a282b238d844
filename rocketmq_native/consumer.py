"""Consumption in a group, pushed to a handler."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from rocketmq_native.library import OK, RECEIVER, WARNINGS, addresses, library, text_of_c
from rocketmq_native.producer import credentials, instance_name, start
from rocketmq_native.received import Received, Unreadable, place, received
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import InvalidRequest, NoPermission, TopicNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

Handler = Callable[[Received], object]
"""Takes a message. When it returns, the message is done; when it raises, it comes again."""

_DONE, _AGAIN = 0, 1
_LOOK_SECONDS = 10.0
_log = logging.getLogger(__name__)


class PushConsumer:
    """Consumes a topic as a member of a group, by librocketmq. Started when it is made.

    At least once: a message is done when the handler returns. One whose handler raises, whatever it raises, comes again, with all
    that came in the same answer of the broker (up to 32), done or not: by itself after 10 s and then later and later, 16 times,
    and then it is in the group's dead-letter topic (`%DLQ%` and the group); in order (`ordered`) after a second, and again, and its
    queue waits. The error is logged by `rocketmq_native.consumer`. So is a message that the library can't give as it was sent: it
    goes the same way, and reaches no handler. One whose body is compressed with LZ4 or Zstandard ends the process (SIGABRT), and
    `rocketmq_native.library` logs why. Batch topics are refused, as brokers take no unit of them back.

    A group that is new begins where the brokers say, which for a queue whose first message is still there is that. Elsewhere
    `rocketmq_remoting.Client.commit_offset` sets where it begins, before this is started.

    Args:
        name_servers: `host:port` addresses; a string separates them by semicolons.
        group: the consumer group.
        topic: what is consumed.
        handler: see `Handler`; called in threads of the library, several at a time unless `threads` is 1.
        tags: the tags that are wanted, as `a || b`; `*`: all.
        ordered: one message of a queue at a time, in its order.
        threads: how many messages are handled at a time.
        access_key: for brokers with ACL; needs `secret_key`.
        secret_key: its secret.

    Raises:
        Unsupported: the library is not there, or can't be used.
        InvalidRequest: an argument can't be used; the topic is a batch topic.
        RetriableError: no name server answers.
        OutcomeUnknown: it does not start.
    """

    def __init__(
        self,
        name_servers: Sequence[str] | str,
        group: str,
        topic: str,
        handler: Handler,
        *,
        tags: str = "*",
        ordered: bool = False,
        threads: int = 8,
        access_key: str | None = None,
        secret_key: str | None = None,
    ) -> None:
        if threads < 1:
            msg = f"threads={threads}: give one or more"
            raise InvalidRequest(msg)
        self._library = library()
        self._handler = handler
        self._closed = False
        servers, name, keys = addresses(name_servers), text_of_c("the group", group), credentials(access_key, secret_key)
        subscription = text_of_c("the topic", topic), text_of_c("tags", tags)
        with Client(name_servers, access_key=access_key, secret_key=secret_key, timeout=_LOOK_SECONDS) as client:
            _refuse_units(client, topic)
        # The library calls it for as long as it runs, and holds no reference.
        self._receiver = RECEIVER(self._receive)
        # Never destroyed, as a producer.
        self._handle = self._library.CreatePushConsumer(name)
        self._library.SetPushConsumerNameServerAddress(self._handle, servers)
        # Those of one name share their connections, whatever name servers each has.
        self._library.SetPushConsumerInstanceName(self._handle, instance_name())
        self._library.SetPushConsumerThreadCount(self._handle, threads)
        self._library.SetPushConsumerLogLevel(self._handle, WARNINGS)
        if keys is not None:
            self._library.SetPushConsumerSessionCredentials(self._handle, *keys)
        register = self._library.RegisterMessageCallbackOrderly if ordered else self._library.RegisterMessageCallback
        for status in (self._library.Subscribe(self._handle, *subscription), register(self._handle, self._receiver)):
            if status != OK:
                msg = f"librocketmq does not subscribe {topic}: {self._library.fault()}"
                raise InvalidRequest(msg)
        self._library.tell_of_the_end()
        start(self._library, "StartPushConsumer", self._handle)

    def close(self) -> None:
        """End it, when the handlers under way have returned; what is done is known to the brokers then. Not for handlers."""
        if not self._closed:
            self._closed = True
            self._library.ShutdownPushConsumer(self._handle)

    def __enter__(self) -> Self:
        """Return the consumer; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _receive(self, _consumer: int, handle: int) -> int:
        try:
            message = received(self._library, handle)
        except Unreadable as error:
            if not error.goes_back:
                # Either answer would lose it.
                _log.critical("%s: %s; this process ends, and the message is not done", place(self._library, handle), error)
                os.abort()
            _log.error("%s: %s; it goes back to the group", place(self._library, handle), error)
            return _AGAIN
        try:
            self._handler(message)
        except BaseException:
            # Of what leaves here C hears nothing, and takes what happens to be there for the answer.
            _log.exception("%s: the handler failed; it comes again", place(self._library, handle))
            return _AGAIN
        finally:
            message.forget()
        return _DONE


def _refuse_units(client: Client, topic: str) -> None:
    """Brokers do not take a unit back, so its first one would end the process.

    Raises:
        InvalidRequest: it is a batch topic.
    """
    # Who may not look learns it of the first unit.
    with suppress(TopicNotFound, NoPermission):
        if client.topic_exists(topic) and client.topic_config(topic).topic_type == "batch":
            msg = f"{topic} is a batch topic, whose units librocketmq does not know: read it with rocketmq_remoting"
            raise InvalidRequest(msg)
