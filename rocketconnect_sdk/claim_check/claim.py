"""The reference that takes the place of a body. Pure."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Self

from rocketconnect_sdk.record import Offset

PROPERTY = "RCCLAIM"
"""The property of a message whose body is elsewhere: size, SHA-256 and name, joined by |."""

_LONGEST = 100
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}/[0-9a-f]{32}/-?[0-9a-f][0-9a-f.-]{0,199}", re.ASCII)
_TEXT = re.compile(rf"([0-9]{{1,15}})\|([0-9a-f]{{64}})\|({_NAME.pattern})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a message refers to.

    Attributes:
        name: Beneath the place that the configuration of each connector names: no message says where that is.
        size: Of the body, in bytes.
        sha256: Of the body, in hexadecimal digits.
    """

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, uid: str, partition: str, incarnation: int, offset: Offset, body: bytes) -> Self:
        """That of the body of a record of a source, by its position: the same record has the same name again.

        Its digest is in the name, too: what an older owner of the task has made of the record replaces nothing.
        """
        digest = hashlib.sha256(body).hexdigest()
        place = ".".join(map(str, offset))
        if len(place) > _LONGEST:
            place = hashlib.sha256(place.encode()).hexdigest()
        folder = hashlib.sha256(partition.encode()).hexdigest()[:32]
        return cls(f"{uid}/{folder}/{place}-{incarnation}-{digest[:16]}", len(body), digest)

    @classmethod
    def parse(cls, text: str) -> Self:
        """What a property says. Whoever may write to the topic has written it.

        Raises:
            ValueError: it is no reference.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            msg = f"{text[:100]!r} is no reference to a body"
            raise ValueError(msg)
        return cls(found[3], int(found[1]), found[2])

    @property
    def text(self) -> str:
        """As it stands in the property."""
        return f"{self.size}|{self.sha256}|{self.name}"

    @property
    def body(self) -> bytes:
        """What the message has in the place of the body, for people."""
        return json.dumps({"claim.check": {"name": self.name, "size": self.size, "sha256": self.sha256}}).encode()

    def fits(self, body: bytes) -> bool:
        """Whether this is the body that was meant."""
        return len(body) == self.size and hashlib.sha256(body).hexdigest() == self.sha256
