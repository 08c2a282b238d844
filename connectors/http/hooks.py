"""What the requests of webhooks become. Pure, but for the clock."""

import base64
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from connectors.http.bodies import Bodies, key_of
from connectors.http.challenges import Challenge
from connectors.http.signatures import Signer
from rocketconnect_sdk.changes.topics import fitted
from rocketconnect_sdk.listeners.http import NotTaken, Receiver, Request, Response, Taken, Unpacker
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.routes.names import TOPIC_LENGTH

METHODS = ("POST", "PUT", "PATCH")
_MOST_HEADERS = 16 << 10
_CONTROLS = re.compile("[\\0-\\x08\\x0a-\\x1f\\x7f]")
_MOST_PROPERTIES = 30_000
"""Bytes. RocketMQ takes 32,767 of key and headers, and some of them are ours."""
_OF_EACH = 16
"""So many of them stand around the name and the text of a header, at most."""


def paths_problem(pairs: Sequence[str]) -> str | None:
    """What is wrong with PATH=TOPIC, PATH=TOPIC; None: nothing."""
    seen: set[str] = set()
    for pair in pairs:
        path, equals, topic = pair.rpartition("=")
        if not equals or not path.startswith("/") or "?" in path or "#" in path:
            return f"{pair!r} is no PATH=TOPIC"
        if not topic or len(topic) > TOPIC_LENGTH or fitted(topic) != topic:
            return f"{pair!r} names no topic of 1 to {TOPIC_LENGTH} letters, digits, %, |, - and _"
        if path in seen:
            return f"has {path} twice"
        seen.add(path)
    return None


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Who may send.

    Attributes:
        logins: What the header Authorization may have, its scheme in lower case; empty: it is not looked at.
        key_header: The header that may have the API key.
        key: The API key; empty: there is none.
        signer: Looks at signatures; None: there are none.
        origins: The pages that browsers may send from; `*`: all; empty: it is not looked at.
    """

    logins: Sequence[str] = field(default=(), repr=False)
    key_header: str = ""
    key: str = field(default="", repr=False)
    signer: Signer | None = None
    origins: Sequence[str] = ()

    def look(self, request: Request) -> None:
        """Raises NotTaken: who sends it may not."""
        origin = request.headers.get("origin", "")
        if self.origins and origin and not self.allowed(origin):
            raise NotTaken(Response(403, "the page that sends this is none that may"))
        if not self.logins and not self.key:
            return
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        given = f"{scheme.lower()} {secret.strip()}"
        is_known = any(_same(given, each) for each in self.logins)
        if not is_known and not (self.key and _same(request.headers.get(self.key_header.lower(), ""), self.key)):
            challenge = "Basic" if any(each.startswith("basic ") for each in self.logins) else "Bearer"
            raise NotTaken(Response(401, "who sends this is not known", {"WWW-Authenticate": challenge}))

    def check(self, request: Request) -> None:
        """Raises NotTaken: its signature is not right."""
        if self.signer is not None:
            given = request.headers.get(self.signer.header.lower(), "")
            if (problem := self.signer.problem(request.sent, given, time.time())) is not None:
                raise NotTaken(Response(401, f"the request {problem}"))

    def allowed(self, origin: str) -> bool:
        """Whether browsers may send from a page."""
        return "*" in self.origins or origin in self.origins


class Hooks(Receiver):
    """Requests become records.

    Args:
        paths: By path the topic; a path that ends with /* has all below it. Empty: all paths go to the topic of the configuration.
        keeper: Who may send.
        bodies: What a body becomes.
        key: The template of keys; empty: there are none.
        headers: Headers of requests that become headers of records.
        status: Of the answer when the topic has it.
        challenge: How the first question of a sender is answered.
    """

    def __init__(
        self,
        paths: Mapping[str, str],
        keeper: Doorkeeper,
        bodies: Bodies,
        key: str,
        headers: Sequence[str],
        status: int,
        challenge: Challenge,
    ) -> None:
        self._paths = paths
        self._keeper = keeper
        self._bodies = bodies
        self._key = key
        self._headers = headers
        self._status = status
        self._challenge = challenge

    @property
    def packings(self) -> Mapping[str, Unpacker]:
        """See Receiver."""
        return self._bodies.packings

    def look(self, request: Request) -> None:
        """See Receiver."""
        self._topic(request.path)
        if request.method == "OPTIONS" and (answer := self._bodies.asked(request)) is not None:
            raise NotTaken(answer)
        if request.method == "OPTIONS" and self._keeper.allowed(request.headers.get("origin", "")):
            asked = request.headers.get("access-control-request-headers", "")
            told = {"Access-Control-Allow-Methods": ", ".join(METHODS), "Access-Control-Max-Age": "86400"}
            raise NotTaken(Response(204, headers={**told, **({"Access-Control-Allow-Headers": asked} if asked else {})}))
        self._challenge.look(request)
        if request.method not in METHODS:
            raise NotTaken(Response(405, f"{request.method} is not for here", {"Allow": ", ".join(METHODS)}))
        self._keeper.look(request)
        self._bodies.look(request)

    def read(self, request: Request) -> Taken:
        """See Receiver."""
        self._keeper.check(request)
        self._challenge.read(request)
        topic, headers, now_ms = self._topic(request.path), self._kept(request), time.time_ns() // 1_000_000
        rows, response = self._bodies.read(request)
        room = (
            (_MOST_PROPERTIES - sum(_OF_EACH + len(name.encode()) + len(text.encode()) for name, text in headers.items())) // 4 * 3
        )
        records = [
            Received(
                None,
                row.value,
                self._key_of(request, row.value, room),
                now_ms if row.timestamp_ms is None else row.timestamp_ms,
                {**headers, **row.headers} if row.headers else headers,
                topic,
                size=row.size,
                schema=row.schema,
            )
            for row in rows
        ]
        return Taken(records, response or Response(self._status))

    def refused(self, request: Request, response: Response) -> Response:
        """See Receiver."""
        return self._bodies.refused(request, response)

    def headers(self, request: Request) -> Mapping[str, str]:
        """See Receiver."""
        origin = request.headers.get("origin", "")
        if not origin or not self._keeper.allowed(origin):
            return {}
        if "*" in self._keeper.origins:
            return {"Access-Control-Allow-Origin": "*"}
        return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}

    def _key_of(self, request: Request, value: object, room: int) -> str | None:
        try:
            key = key_of(self._key, request, value)
        except ValueError as error:
            raise NotTaken(Response(400, f"the key can't be made: {error}")) from None
        if key is not None and (size := len(key.encode())) > room:
            raise NotTaken(Response(413, f"the key has {size:,} bytes, and {room:,} are allowed beside these headers"))
        return key

    def _topic(self, path: str) -> str:
        if not self._paths:
            return ""
        if path in self._paths:
            return self._paths[path]
        below = [name for name in self._paths if name.endswith("/*") and path.startswith(name[:-1])]
        if not below:
            raise NotTaken(Response(404, "nothing is at this path"))
        return self._paths[max(below, key=len)]

    def _kept(self, request: Request) -> dict[str, str]:
        kept = {name: request.headers[name.lower()] for name in self._headers if name.lower() in request.headers}
        kept |= {"http.method": request.method, "http.path": request.path}
        if kind := request.headers.get("content-type"):
            kept["http.content.type"] = kind
        if sum(len(text.encode()) for text in kept.values()) > _MOST_HEADERS:
            raise NotTaken(Response(431, "the headers that are kept are too large"))
        # Many servers let them through, and no message can have them: the task would end, and who sent it not be told.
        if bad := next((name for name, text in kept.items() if _CONTROLS.search(text)), None):
            raise NotTaken(Response(400, f"{bad} has a control character"))
        return kept


def login_of(user: str, password: str) -> str:
    """What the header Authorization has for a user, its scheme in lower case."""
    return f"basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode())
