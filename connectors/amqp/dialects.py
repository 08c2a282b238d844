"""The names that headers and keys have, in AMQP and in JMS. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

OF_PROPERTIES = "property."
KINDS = {0: "message", 1: "object", 2: "map", 3: "bytes", 4: "stream", 5: "text"}
"""The kinds of messages that JMS has, by the annotation that tells them."""
KIND_ANNOTATION = "x-opt-jms-msg-type"
KIND = "jms.message.kind"
"""The header with the kind of a message."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How headers are named.

    Attributes:
        names: By the names of fields in the protocol those of headers.
        keys: By their names in the option `key` the headers that may be keys.
        is_jms: Headers that JMS makes of several fields are there, too, and annotations are not.
        address: The header with what the message came from.
    """

    names: Mapping[str, str]
    keys: Mapping[str, str]
    address: str
    is_jms: bool = False

    @property
    def key_names(self) -> str:
        """What a key may be, for people."""
        return f"{', '.join(self.keys)} or {OF_PROPERTIES}NAME"

    def key_problem(self, text: str) -> str | None:
        """What is wrong with the choice of a key; None: nothing."""
        if not text or text in self.keys or (text.startswith(OF_PROPERTIES) and text != OF_PROPERTIES):
            return None
        return f"is none of {self.key_names}"


_FIELDS = (
    *("message-id", "user-id", "to", "subject", "reply-to", "correlation-id", "content-type", "content-encoding"),
    *("absolute-expiry-time", "creation-time", "group-id", "group-sequence", "reply-to-group-id"),
    *("durable", "priority", "ttl", "first-acquirer", "delivery-count"),
)
AMQP = Dialect(
    names={name: f"amqp.{name.replace('-', '.')}" for name in _FIELDS},
    keys={name: f"amqp.{name}" for name in ("message.id", "correlation.id", "subject", "group.id")},
    address="amqp.address",
)
JMS = Dialect(
    names={
        "message-id": "JMSMessageID",
        "correlation-id": "JMSCorrelationID",
        "reply-to": "JMSReplyTo",
        "subject": "JMSType",
        "user-id": "JMSXUserID",
        "group-id": "JMSXGroupID",
        "group-sequence": "JMSXGroupSeq",
    },
    keys={name: name for name in ("JMSMessageID", "JMSCorrelationID", "JMSType", "JMSXGroupID")},
    address="JMSDestination",
    is_jms=True,
)
