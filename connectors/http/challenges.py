"""What senders ask before they send: whether whoever answers here knows what they were told. Pure.

https://docs.slack.dev/reference/events/url_verification
https://developers.facebook.com/docs/graph-api/webhooks/getting-started
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.listeners.http import NotTaken, Request, Response

SENDERS = ("slack", "meta")
_SLACK = "url_verification"
_LONGEST = 1_000
_MOST_PARAMETERS = 100


@dataclass(frozen=True, slots=True)
class Challenge:
    """How the first question of a sender is answered.

    Attributes:
        sender: One of SENDERS; empty: none asks.
        token: What Meta has to show.
    """

    sender: str = ""
    token: str = field(default="", repr=False)

    def look(self, request: Request) -> None:
        """Answers a request without a body. Raises NotTaken: with the answer, where it is a question."""
        if self.sender != "meta" or request.method != "GET":
            return
        try:
            asked = dict(parse_qsl(request.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS))
        except ValueError:
            raise NotTaken(Response(400, "the question has too many parameters")) from None
        if not hmac.compare_digest(asked.get("hub.verify_token", "").encode(), self.token.encode()):
            raise NotTaken(Response(403, "hub.verify_token is another one"))
        if asked.get("hub.mode") != "subscribe":
            raise NotTaken(Response(400, "hub.mode is not subscribe"))
        raise NotTaken(_answer(asked.get("hub.challenge")))

    def read(self, request: Request) -> None:
        """Answers a request with a body, from somebody who may send. Raises as look."""
        if self.sender != "slack" or _SLACK.encode() not in request.body:
            return
        try:
            found = value_of(request.body)
        except RecordError:
            return
        if isinstance(found, Mapping) and found.get("type") == _SLACK:
            raise NotTaken(_answer(found.get("challenge")))


def _answer(text: object) -> Response:
    """The answer to a question with this text."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST or not (text.isascii() and text.isprintable()):
        return Response(400, "the question has no text to answer with")
    # No browser takes it for a page.
    return Response(200, text, {"X-Content-Type-Options": "nosniff"})
