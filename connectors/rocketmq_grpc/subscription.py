"""What of a source needs the client: a member of a consumer group, which is given messages and acknowledges them."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from connectors.rocketmq_grpc import faults
from connectors.rocketmq_grpc.client import Client, Endpoint, message_of
from connectors.rocketmq_grpc.messages import copied, was_there
from connectors.rocketmq_grpc.receiving import Held, Inbox, Place, Wanted
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from connectors.rocketmq_grpc.session import Session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.queues import Received, Share, Subscription
from rocketconnect_sdk.wording.counts import counted

_BEAT_SECONDS = 10.0
_MOST_ACKS = 256
"""So many acknowledgements go into one request."""
_MOST_CALLS = 32
"""So many messages are renewed at a time."""
_ALL = "*"


class GrpcSubscription(Subscription):
    """A member of the group, which waits at each broker of each topic."""

    def __init__(self, config: Config, share: Share, context: TaskContext, topic_of: Callable[[str], str]) -> None:
        self._config = config
        self._context = context
        self._topic_of = topic_of
        self._invisible: float = config["invisible.duration"]
        self.ping_seconds = min(_BEAT_SECONDS, self._invisible / 4)
        self._client = Client(config, f"{share.identity}-{uuid4().hex[:8]}")
        self._sessions: dict[Endpoint, Session] = {}
        self._group = self._client.resource(config["group"])
        self._settings = consumer_settings(self._client, config)
        try:
            places = places_of(self._client, config["topics"])
        except BaseException:
            self._client.close()
            raise
        self._inbox = Inbox(self._client, Wanted(self._group, expression_of(config), self._invisible, share.prefetch), places)
        try:
            for endpoint in dict.fromkeys(place.endpoint for place in places):
                self._sessions[endpoint] = Session(self._client, endpoint, self._settings)
            self._inbox.start()
        except BaseException:
            self.close()
            raise

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription. What was in our cluster before is acknowledged at once."""
        found = self._inbox.take(limit, size, seconds)
        passed = [held for held in found if was_there(held.message, self._config["target.cluster"])]
        if passed:
            self.ack(passed)
            left = {id(held) for held in passed}
            found = [held for held in found if id(held) not in left]
        return [self._received(held) for held in found]

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription. What is acknowledged too late comes again, which the log says."""
        late = 0
        for place, some in _by_place(tags).items():
            for few in _parts(some, _MOST_ACKS):
                request = pb.AckMessageRequest(
                    group=self._group,
                    topic=self._client.resource(place.topic),
                    entries=[pb.AckMessageEntry(message_id=_id(held), receipt_handle=held.handle) for held in few],
                )
                answer = self._client.call(place.endpoint, "AckMessage", request, pb.AckMessageResponse)
                statuses = [entry.status for entry in answer.entries] or [answer.status]
                for status in statuses:
                    if faults.has_come_again(status):
                        late += 1
                    elif not faults.is_done(status):
                        raise faults.fault_of(status, self._client.place, "acknowledgements")
        if late:
            self._context.log.warning(
                "%d of %s were acknowledged after invisible.duration: they come again", late, counted(tags, "message")
            )
        self._inbox.done(Counter(held.place for held in tags))

    def nack(self, tags: Sequence[Any]) -> None:
        """See Subscription. What waits here is given back, too."""
        self._inbox.end()
        self._keep([*tags, *self._inbox.waiting()], 0.0)

    def ping(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        for endpoint, session in self._sessions.items():
            if session.has_ended:
                session.close()
                self._sessions[endpoint] = Session(self._client, endpoint, self._settings)
            else:
                session.beat()
        due = time.monotonic() - self._invisible / 2
        self._keep([held for held in (*tags, *self._inbox.waiting()) if held.renewed <= due], self._invisible)

    def close(self) -> None:
        """See Subscription."""
        self._inbox.end()
        for session in self._sessions.values():
            if not session.has_ended:
                session.leave()
            session.close()
        self._client.close()

    def _keep(self, some: Sequence[Held], seconds: float) -> None:
        """Has the server keep messages for us for so long from now on; those that it has given to others by now it does not."""
        for few in _parts(some, _MOST_CALLS):
            now = time.monotonic()
            begun = [
                (held, self._client.begin(held.place.endpoint, "ChangeInvisibleDuration", *self._asked(held, seconds)))
                for held in few
            ]
            for held, each in begun:
                answer: pb.ChangeInvisibleDurationResponse = self._client.result(each)
                if faults.is_done(answer.status):
                    held.handle, held.renewed = answer.receipt_handle or held.handle, now
                elif not faults.has_come_again(answer.status):
                    raise faults.fault_of(answer.status, self._client.place, "messages that are kept")

    def _asked(
        self, held: Held, seconds: float
    ) -> tuple[pb.ChangeInvisibleDurationRequest, type[pb.ChangeInvisibleDurationResponse]]:
        request = pb.ChangeInvisibleDurationRequest(
            group=self._group,
            topic=self._client.resource(held.place.topic),
            receipt_handle=held.handle,
            message_id=_id(held),
        )
        request.invisible_duration.FromMilliseconds(round(seconds * 1000))
        return request, pb.ChangeInvisibleDurationResponse

    def _received(self, held: Held) -> Received:
        made = copied(held.message, held.place.broker, self._config["source.cluster"], self._context.max_record_bytes)
        return Received(
            held,
            made.value,
            made.key,
            made.timestamp_ms,
            topic=self._topic_of(held.place.topic),
            size=made.size,
            properties=made.properties,
        )


def expression_of(config: Config) -> pb.FilterExpression:
    """Which messages of the topics are wanted."""
    if config["sql"]:
        return pb.FilterExpression(type=pb.SQL, expression=config["sql"])
    return pb.FilterExpression(type=pb.TAG, expression="||".join(config["tags"]) or _ALL)


def consumer_settings(client: Client, config: Config) -> pb.Settings:
    """What a member of the group says that it is."""
    settings = pb.Settings(
        client_type=pb.SIMPLE_CONSUMER,
        access_point=message_of(client.first),
        user_agent=pb.UA(language=pb.PYTHON, version="RocketConnect"),
    )
    settings.request_timeout.FromMilliseconds(round(client.seconds * 1000))
    settings.subscription.group.CopyFrom(client.resource(config["group"]))
    for topic in config["topics"]:
        settings.subscription.subscriptions.add(topic=client.resource(topic), expression=expression_of(config))
    return settings


def places_of(client: Client, topics: Sequence[str]) -> list[Place]:
    """Where messages of topics are.

    Raises:
        PermanentError: nobody may read one of them.
        ConnectorError: it can't be told.
    """
    found: list[Place] = []
    for topic in topics:
        route = client.route(topic)
        if not route.readable:
            msg = f"{client.place}: the topic {topic} may not be read by anybody (its permission)"
            raise PermanentError(msg)
        found += [Place(topic, broker, endpoint) for broker, endpoint in route.readable.items()]
    return found


def _by_place(some: Sequence[Held]) -> dict[Place, list[Held]]:
    found: dict[Place, list[Held]] = defaultdict(list)
    for held in some:
        found[held.place].append(held)
    return found


def _parts(some: Sequence[Held], size: int) -> Iterator[Sequence[Held]]:
    return (some[begin : begin + size] for begin in range(0, len(some), size))


def _id(held: Held) -> str:
    return held.message.system_properties.message_id
