"""CloudEvents over HTTP: structured, several in a body, and with attributes as headers.

https://github.com/cloudevents/spec: the binding of HTTP, and webhooks, whose senders ask before they send.
"""

from connectors.http.bodies import Bodies, Row, Rows
from rocketconnect_sdk.converters.cloudevents.events import events_of, time_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.listeners.http import NotTaken, Request, Response


class EventBodies(Bodies):
    """Each event is a record, as an object with its attributes and its data. A body with a bad one is refused as a whole.

    Args:
        most_bytes: The size of a record.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes

    def asked(self, request: Request) -> Response | None:
        """See Bodies: all who ask may send, as often as they like. What they show when they do is looked at then."""
        origin = request.headers.get("webhook-request-origin")
        if origin is None:
            return None
        return Response(200, headers={"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*", "Allow": "POST"})

    def read(self, request: Request) -> Rows:
        """See Bodies."""
        try:
            events = events_of(request.body, request.headers)
            rows = [Row(event, len(to_json(event)), None, time_of(event)) for event in events]
        except RecordError as error:
            raise NotTaken(Response(400, str(error))) from None
        if (largest := max((row.size for row in rows), default=0)) > self._most_bytes:
            raise NotTaken(Response(413, f"a record has {self._most_bytes:,} bytes at most, and one has {largest:,}"))
        return Rows(rows)
