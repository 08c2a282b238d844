"""The RPCs of the topic service: ask the brokers in a thread, let a fresh host read messages, convert the answer."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING, TypeVar

from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.topic.v1 import topic_service_pb2 as pb
from rocketconnect.topic.v1.topic_service_pb2_grpc import TopicServiceServicer

import rocketmq_remoting.errors as rocketmq
from rocketconnect_kit.access.gate import may_use_secrets
from rocketconnect_kit.errors import (
    AlreadyExists,
    FailedPrecondition,
    FieldProblem,
    InvalidArgument,
    NotFound,
    ServiceError,
    Unavailable,
)
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.pages import decode_token, encode_token, page_size
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.permissions.dead_letter_topics import USUAL, may_hold_dead_letters
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import TopicConfig
from rocketmq_remoting.protocol.trace import TRACE_TOPIC
from rocketmq_remoting.topics import check_topic_name
from services.executor.contract.answers import Peeked
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import PeekTopic
from services.executor.deadletters.box import Box
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.runtime.rocketmq.internal_topics import is_internal
from services.executor.runtime.rocketmq.shared_client import SharedClient
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.topics import wire
from services.executor.topics.traces import Asked, TraceReader, TraceTopicMissing
from services.executor.topics.users import keeps_letters, users

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

T = TypeVar("T")

_SECONDS = 10.0
"""How long one request may look, when its caller gave no deadline."""
_MARGIN_SECONDS = 0.5
_OF_PAGE = 0.4
"""The part of its time after which a page of topics ends: brokers are asked for each queue."""
_OF_LETTERS = 0.6
"""The part of its time in which it is looked whether dead letters would go with a topic."""
_OF_PEEK = 0.7
"""The part of its time in which messages are read; the rest is for starting and ending."""
_OF_TRACE = 0.8
"""The part of its time in which trace messages are read."""
_USUAL_MESSAGES, _MOST_MESSAGES = 10, 100
_USUAL_QUEUES, _MOST_QUEUES = 8, 1024
_NAMED = 10
"""So many of the connectors that use a topic are named."""
_PAGE = 500
_CONFIG_SECONDS = 5.0
_THREADS = 2
_SCOPE = "topics"

_log = get_logger(__name__)


class TopicService(TopicServiceServicer):
    """See topic_service.proto for what each RPC promises.

    Args:
        configs: The config service, which knows who uses topics.
        fresh: Where messages are converted.
        endpoints: Where the brokers are.
        connect: Opens a client of RocketMQ; called once, in a thread.
        reader_hosts: Hosts that converters may speak to for somebody who may only read; see permissions.hosts.
    """

    def __init__(
        self,
        configs: "ConfigServiceAsyncStub",
        fresh: FreshHosts,
        endpoints: Endpoints,
        connect: Callable[[], Client],
        reader_hosts: str,
    ) -> None:
        self._reader_hosts = reader_hosts
        self._configs = configs
        self._fresh = fresh
        self._endpoints = endpoints
        self._client = SharedClient(connect)
        # Invariant 7: further requests wait for their turn.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="topics")

    def close(self) -> None:
        """End what is under way; no request may follow."""
        self._client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ListTopics(self, request: pb.ListTopicsRequest, context: ServicerContext) -> pb.ListTopicsResponse:
        """See the proto."""
        size = page_size(request.page_size)
        after = decode_token(_SCOPE, request.page_token)
        until = time.monotonic() + _seconds(context) * _OF_PAGE

        def look(client: Client) -> pb.ListTopicsResponse:
            wanted = frozenset(request.names)
            # Those that would be left out are not asked for their ends: RocketMQ has one of 1,024 queues.
            told = (name for name in client.topics() if request.internal or not is_internal(name))
            names = [name for name in told if (after is None or name > after) and (not wanted or name in wanted)]
            answer = pb.ListTopicsResponse()
            for number, name in enumerate(names, start=1):
                topic = _described(client, name)
                if request.internal or not topic.internal:
                    answer.topics.append(topic)
                if number < len(names) and (len(answer.topics) >= size or time.monotonic() > until):
                    answer.next_page_token = encode_token(_SCOPE, name)
                    break
            return answer

        return await self._ask(look)

    async def EnsureTopic(self, request: pb.EnsureTopicRequest, context: ServicerContext) -> pb.EnsureTopicResponse:
        """See the proto."""
        _check(request)
        wanted = "batch" if request.batch else "normal"

        def ensure(client: Client) -> pb.EnsureTopicResponse:
            existed = client.topic_exists(request.name) or client.topic_on_broker(request.name)
            if existed:
                _compare(client.topic_config(request.name), request.queues, wanted)
            else:
                # One that somebody else creates now is left as it is.
                client.create_topic(request.name, queues=request.queues or _USUAL_QUEUES, topic_type=wanted, keep=True)
            return pb.EnsureTopicResponse(topic=_described(client, request.name), existed=existed)

        answer = await self._ask(ensure)
        if not answer.existed:
            _log.info("topic created", topic=request.name, author=caller(context).named(request.author))
        return answer

    async def DeleteTopic(self, request: pb.DeleteTopicRequest, context: ServicerContext) -> pb.DeleteTopicResponse:
        """See the proto."""
        if is_internal(request.name):
            raise _not_ours(request.name)
        there = await self._connectors()
        running, waiting = users(request.name, there)
        if running:
            doing = ", ".join(running[:_NAMED]) + (f" and {len(running) - _NAMED} more" if len(running) > _NAMED else "")
            message = f"topic {request.name!r} is in use: {doing}; pause, stop or delete those first"
            raise FailedPrecondition("TOPIC_IN_USE", message, topic=request.name)

        is_of_letters = keeps_letters(request.name, there)
        until = time.monotonic() + _seconds(context) * _OF_LETTERS

        def delete(client: Client) -> pb.DeleteTopicResponse | None:
            if not client.topic_exists(request.name):
                return None
            topic = _described(client, request.name)
            if topic.internal:
                raise _not_ours(request.name)
            letters: dict[str, int] = {}
            if is_of_letters or may_hold_dead_letters(request.name, USUAL):
                with closing(RocketMQTopics(client)) as topics:
                    found, _ = Box(topics, request.name, until).unreplayed(unnamed=is_of_letters)
                    letters = {name: each.count for name, each in found.items()}
            if letters and not request.letters:
                raise _has_letters(request.name, letters)
            client.delete_topic(request.name)
            return pb.DeleteTopicResponse(topic=topic, connectors=waiting, letters=sum(letters.values()))

        answer = await self._ask(delete)
        if answer is None:
            raise await self._not_found(request.name)
        gone = {"letters": answer.letters} if answer.letters else {}
        _log.info("topic deleted", topic=request.name, author=caller(context).named(request.author), **gone)
        return answer

    async def PeekTopic(self, request: pb.PeekTopicRequest, context: ServicerContext) -> pb.PeekTopicResponse:
        """See the proto."""
        messages = request.messages or _USUAL_MESSAGES
        if not 0 < messages <= _MOST_MESSAGES:
            fix = "ask again for more, from where the answer ended"
            raise _invalid("messages", str(messages), f"is not from 1 to {_MOST_MESSAGES}", fix)
        if request.key and request.WhichOneof("start") in ("offset", "places"):
            raise _invalid(
                "key", request.key, "is looked for in all that RocketMQ has indexed", "leave out the offset and the places"
            )
        if request.key and not request.key.strip():
            raise _invalid("key", request.key, "is no word", "name a key that messages have")
        seconds = _seconds(context)
        order = PeekTopic(
            request.topic,
            dict(request.config),
            messages,
            request.queue,
            wire.start(request),
            seconds * _OF_PEEK,
            self._endpoints,
            None if may_use_secrets() else self._reader_hosts,
            request.key.strip(),
        )
        try:
            answer = await self._fresh.ask(order, seconds, f"{request.topic} (peek)")
        except (PluginLate, PluginCrashed) as error:
            answer = Peeked([], [], {}, str(error))
        if not isinstance(answer, Peeked):
            answer = Peeked([], [], {}, "the host process answered another question")
        if answer.is_missing:
            raise await self._not_found(request.topic)
        return wire.peeked(answer)

    async def TraceMessages(self, request: pb.TraceMessagesRequest, context: ServicerContext) -> pb.TraceMessagesResponse:
        """See the proto."""
        key, message_id = request.key.strip(), request.message_id.strip()
        if bool(key) == bool(message_id):
            value = request.key or request.message_id
            raise _invalid("key", value, "is to be given, or message_id, and not both", "name a key or an id that messages have")
        since_ms = request.since.ToMilliseconds() if request.HasField("since") else 0
        asked = Asked(request.topic, key, message_id, since_ms, request.trace_topic or TRACE_TOPIC)
        until = time.monotonic() + _seconds(context) * _OF_TRACE

        def trace(client: Client) -> pb.TraceMessagesResponse | None:
            if not client.topic_exists(asked.topic):
                return None
            reader = TraceReader(client, asked, until)
            try:
                found = reader.traces()
            except TraceTopicMissing as error:
                raise FailedPrecondition("TRACE_TOPIC_NOT_FOUND", str(error), topic=asked.trace_topic) from error
            return pb.TraceMessagesResponse(messages=map(wire.traced, found), garbled=reader.garbled, trouble=reader.trouble)

        answer = await self._ask(trace)
        if answer is None:
            raise await self._not_found(request.topic)
        return answer

    async def _connectors(self) -> list[connectors.Connector]:
        """Return all connectors that there are. Raises what the config service answers."""
        found: list[connectors.Connector] = []
        token = ""
        while True:
            page = config.ListConnectorsRequest(page_size=_PAGE, page_token=token)
            with remote_errors():
                answer = await self._configs.ListConnectors(page, timeout=_CONFIG_SECONDS)
            found += answer.connectors
            token = answer.next_page_token
            if not token:
                return found

    async def _not_found(self, topic: str) -> NotFound:
        """Return the error of a topic that is not there, with the nearest names of those that are."""
        near: list[str] = []
        # What is to be told is known without them.
        with suppress(ServiceError):
            near = nearest(topic, [name for name in await self._ask(Client.topics) if not is_internal(name)])
        meant = did_you_mean(near) or "`rocketconnect topic list` shows those there are"
        return NotFound("TOPIC_NOT_FOUND", f"there is no topic {topic!r}; {meant}", topic=topic)

    async def _ask(self, look: Callable[[Client], T]) -> T:
        """Return what the brokers say.

        Raises:
            Unavailable: ROCKETMQ_AWAY.
            FailedPrecondition: ROCKETMQ_REFUSES.
        """

        def work() -> T:
            return look(self._client.get())

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except rocketmq.RetriableError as error:
            raise Unavailable("ROCKETMQ_AWAY", f"RocketMQ does not answer: {error}; try again in a moment") from error
        except (ConnectorError, rocketmq.RocketMQError) as error:
            raise FailedPrecondition("ROCKETMQ_REFUSES", str(error)) from error


def _described(client: Client, name: str) -> pb.Topic:
    """Return a topic with its queues, or with the reason why they are not known: that of one topic hides no other.

    Raises:
        RetriableError: no name server answers.
    """
    try:
        brokers = client.route(name).brokers
    except rocketmq.TopicNotFound as error:
        # Deleted since the names were told.
        return wire.topic(name, {}, internal=is_internal(name), trouble=str(error))
    internal = is_internal(name, {part for broker in brokers for part in (broker.name, broker.cluster)})
    try:
        with closing(RocketMQTopics(client)) as topics:
            return wire.topic(name, {queue: topics.ends(queue) for queue in topics.queues(name)}, internal=internal)
    except ConnectorError as error:
        return wire.topic(name, {}, internal=internal, trouble=str(error))


def _compare(topic: TopicConfig, queues: int, wanted: str) -> None:
    """Raise AlreadyExists: TOPIC_DIFFERS, unless a topic is as it is wanted."""
    if (queues and topic.write_queues != queues) or topic.topic_type != wanted:
        is_there = f"with {counted(topic.write_queues, 'queue')} on a broker, a {topic.topic_type} topic"
        message = f"topic {topic.topic!r} is there already, {is_there}; it was left as it is"
        raise AlreadyExists("TOPIC_DIFFERS", message, topic=topic.topic)


def _check(request: pb.EnsureTopicRequest) -> None:
    problems = []
    try:
        check_topic_name(request.name)
    except rocketmq.InvalidRequest as error:
        problems.append(FieldProblem("name", request.name[:200], "is no name of a topic", str(error)))
    if is_internal(request.name):
        reason = "is a name that RocketMQ or RocketConnect uses itself"
        problems.append(FieldProblem("name", request.name[:200], reason, "choose another"))
    if not 0 <= request.queues <= _MOST_QUEUES:
        problems.append(FieldProblem("queues", str(request.queues), f"is not from 1 to {_MOST_QUEUES}", "choose a number of them"))
    if problems:
        raise InvalidArgument("TOPIC_INVALID", ". ".join(map(str, problems)), problems)


def _has_letters(name: str, letters: Mapping[str, int]) -> FailedPrecondition:
    """Return the refusal of a topic with dead letters that nobody has replayed; by connector how many."""
    count = counted(sum(letters.values()), "dead letter")
    named = [each for each in sorted(letters) if each][:_NAMED]
    of = f" of {', '.join(named)}" if named else ""
    look = "`rocketconnect topic peek` shows them"
    if named:
        look = f"`rocketconnect dlq list {named[0]}` shows them, and `dlq discard {named[0]} --all` gives them up"
    message = f"topic {name!r} holds {count}{of} that nobody has replayed, and they would go with it; {look}"
    return FailedPrecondition("DEAD_LETTERS_NOT_REPLAYED", message, topic=name)


def _not_ours(name: str) -> InvalidArgument:
    problem = FieldProblem("name", name[:200], "is a topic that RocketMQ or RocketConnect made for itself", "leave it where it is")
    return InvalidArgument("TOPIC_INVALID", str(problem), [problem])


def _invalid(field: str, value: str, reason: str, fix: str) -> InvalidArgument:
    problem = FieldProblem(field, value, reason, fix)
    return InvalidArgument("TOPIC_INVALID", str(problem), [problem])


def _seconds(context: ServicerContext) -> float:
    left = context.time_remaining()
    return _SECONDS if left is None else min(_SECONDS, max(0.1, left - _MARGIN_SECONDS))
