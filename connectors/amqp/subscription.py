"""What of a source needs the client: a connection on which messages come."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import uuid4

import proton
from proton import Delivery, Described, Event, Link, Terminus, symbol

from connectors.amqp.client import Client
from connectors.amqp.messages import Shape, received
from connectors.amqp.options import QUEUE, TOPIC
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.queues import Received, Share, Subscription
from rocketconnect_sdk.queues.values import FIRST_PART
from rocketconnect_sdk.resume import JSON

_SELECTOR = "selector"
_SELECTOR_TYPE = "apache.org:selector-filter:string"
_SECTIONS_BYTES = 1 << 16
"""So many bytes a message may have beside its body."""


@dataclass(frozen=True, slots=True)
class SubscriptionSettings:
    """What is read.

    Attributes:
        addresses: Names of queues or topics.
        kind: QUEUE or TOPIC; empty: the broker knows by the name.
        selector: What messages have to be; empty: all are wanted.
        is_shared: All tasks share a subscription of a topic.
        prefetch: So many messages are taken ahead, of all addresses.
        shape: What is made of a message.
    """

    addresses: Sequence[str]
    kind: str
    selector: str
    is_shared: bool
    prefetch: int
    shape: Shape


@dataclass(slots=True)
class _Coming:
    """A message of which not all is here."""

    parts: list[bytes] = field(default_factory=list)
    length: int = 0
    digest: Any = field(default_factory=sha256)

    def add(self, data: bytes, most: int) -> None:
        self.length += len(data)
        self.digest.update(data)
        if self.length <= most:
            self.parts.append(data)
        elif self.parts:
            # Of what is too large the first part alone is kept.
            self.parts = [b"".join(self.parts)[:FIRST_PART]]


class AmqpSubscription(Subscription):
    """A link of each address, in one session."""

    def __init__(self, config: Config, share: Share, wanted: SubscriptionSettings) -> None:
        self._wanted = wanted
        self._share = share
        self._held: deque[Received] = deque()
        self._coming: dict[str, _Coming] = {}
        self._links: list[Any] = []
        self._names: dict[str, str] = {}
        """By the name of a link its address."""
        self._client = Client(config, client_id(share, wanted))
        self.ping_seconds = self._client.ping_seconds
        self._client.on(Event.DELIVERY, self._on_delivery)
        try:
            self._end_old()
            for address in wanted.addresses:
                self._attach(address)
        except BaseException:
            self._client.end()
            raise

    @property
    def state(self) -> Mapping[str, JSON]:
        """The durable subscriptions that the broker keeps for this identity."""
        mine = [] if self._is_shared_by_all else self._durable
        return {"subscriptions": mine} if mine or self._share.before else {}

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription. What is read beyond what is given is limited by the window of the session."""
        found: list[Received] = []
        while len(found) < limit and size > 0:
            if not self._held and not self._client.turn(lambda: self._held, 0.0 if found else seconds):
                break
            found.append(self._held.popleft())
            size -= found[-1].size
        return found

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        self._settle(tags, Delivery.ACCEPTED)

    def nack(self, tags: Sequence[Any]) -> None:
        """See Subscription. The topic may have them, so whoever gets them next is told; of a preview nothing is to be seen.

        The last one comes first: brokers put each in front of the others. And none is "released", which means the same, since the
        client tells of many such at once, in their order.
        """
        for link in self._links:
            # Otherwise it would come again here at once.
            link.flow(-link.credit)
        held = [each.tag for each in self._held if each.tag is not None]
        self._held.clear()
        for delivery in tags:
            delivery.local.failed = not self._share.passing
        self._settle([*tags, *held][::-1], Delivery.MODIFIED)

    def ping(self, tags: Sequence[Any]) -> None:
        """See Subscription. Reads a few KiB, since what keeps the connection may be among them."""
        del tags
        self._client.turn()

    def close(self) -> None:
        """See Subscription. The broker gives what is not settled to others, or again."""
        self._client.end()

    @property
    def _durable(self) -> list[str]:
        return [] if self._share.passing or self._wanted.kind != TOPIC else list(self._wanted.addresses)

    @property
    def _is_shared_by_all(self) -> bool:
        return self._wanted.is_shared and self._share.number > 0

    def _settle(self, tags: Sequence[Any], outcome: int) -> None:
        for delivery in tags:
            delivery.update(outcome)
            delivery.settle()
            if outcome == Delivery.ACCEPTED:
                delivery.link.flow(1)
        self._client.turn()

    def _attach(self, address: str) -> None:
        link = new_link(self._client, self._share, self._wanted, address)
        self._names[link.name] = address
        self._client.attach(link, f"{self._wanted.kind or 'address'} {address!r}")
        if self._wanted.selector and _SELECTOR not in (_first(link.remote_source.filter) or {}):
            why = f"the broker does not choose messages of {address!r} by a selector"
            raise PermanentError(f"{self._client.place}: {why}. Remove `selector`").naming("selector")
        self._links.append(link)
        link.flow(max(1, self._wanted.prefetch // len(self._wanted.addresses)))

    def _end_old(self) -> None:
        """Ends the subscriptions of an earlier configuration."""
        had = self._share.before.get("subscriptions", ())
        gone = [name for name in had if isinstance(name, str) and name not in self._durable] if isinstance(had, list) else []
        for address in gone:
            unsubscribe(self._client, self._share, self._wanted, address)

    def _on_delivery(self, event: Any) -> None:
        """Takes what has come of a message."""
        link, delivery = event.link, event.delivery
        if not link.is_receiver or not delivery.readable:
            return
        most = self._wanted.shape.most_bytes + _SECTIONS_BYTES
        coming = self._coming.setdefault(link.name, _Coming())
        while delivery.pending and (data := link.recv(delivery.pending)):
            coming.add(data, most)
        if delivery.aborted:
            del self._coming[link.name]
            delivery.settle()
            link.flow(1)
        elif not delivery.partial:
            del self._coming[link.name]
            link.advance()
            tag = None if delivery.settled else delivery
            if tag is None:
                delivery.settle()
                link.flow(1)
            digest = coming.digest.hexdigest() if coming.length > most else ""
            encoded = b"".join(coming.parts)
            self._held.append(received(tag, self._names[link.name], encoded, coming.length, digest, self._wanted.shape))


def client_id(share: Share, wanted: SubscriptionSettings) -> str:
    """The container id. Of a durable subscription it is a part of its name; else no other connection may have it."""
    if wanted.kind == TOPIC and not wanted.is_shared and not share.passing:
        return share.identity
    return f"{share.identity}-{uuid4().hex[:8]}"


def new_link(client: Client, share: Share, wanted: SubscriptionSettings, address: str) -> Any:
    """A link on which messages of an address come; it is not attached yet."""
    is_durable = wanted.kind == TOPIC and not share.passing
    group = share.identity.rpartition("-")[0]
    name = f"{group}-{address}|global{share.number}" if wanted.is_shared else f"rocketconnect-{address}"
    link = client.receiver(name if is_durable else f"{share.identity}-{address}")
    link.snd_settle_mode, link.rcv_settle_mode = Link.SND_UNSETTLED, Link.RCV_FIRST
    source = link.source
    source.address = client.prefix(wanted.kind) + address
    if is_durable:
        source.durability, source.expiry_policy = Terminus.DELIVERIES, Terminus.EXPIRE_NEVER
        source.distribution_mode = Terminus.DIST_MODE_COPY
    if wanted.kind == QUEUE:
        source.distribution_mode = Terminus.DIST_MODE_MOVE
    client.say(source, wanted.kind, *(("shared", "global") if is_durable and wanted.is_shared else ()))
    if wanted.selector:
        source.filter.put_object({symbol(_SELECTOR): Described(symbol(_SELECTOR_TYPE), wanted.selector)})
    return link


def unsubscribe(client: Client, share: Share, wanted: SubscriptionSettings, address: str) -> None:
    """Removes a durable subscription. Idempotent: there may be none."""
    link = new_link(client, share, wanted, address)
    client.attach(link, f"{TOPIC} {address!r}")
    link.close()
    client.wait(lambda: link.state & proton.Endpoint.REMOTE_CLOSED, f"does not end the subscription to {address!r}")


def _first(data: Any) -> Any:
    """The first value of what the broker has said; None: it has said nothing."""
    data.rewind()
    return data.get_object() if data.next() else None
