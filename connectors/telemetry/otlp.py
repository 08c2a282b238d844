"""OTLP over HTTP: protobuf and JSON.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from typing import Any

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status

from connectors.http.bodies import Bodies, Row, Rows
from connectors.telemetry.columns import Signal
from connectors.telemetry.log_records import LOG_RECORDS
from connectors.telemetry.numbers import Unfit, fitted
from connectors.telemetry.otlp_json import from_json
from connectors.telemetry.points import POINTS
from connectors.telemetry.spans import SPANS
from rocketconnect_sdk.listeners.http import NotTaken, Request, Response
from rocketconnect_sdk.wording.counts import counted

_SIGNALS = {"/v1/traces": SPANS, "/v1/metrics": POINTS, "/v1/logs": LOG_RECORDS}
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_TOLD = 3
"""So many reasons are told of what is not taken."""
_CODES = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    413: Code.OUT_OF_RANGE,
    503: Code.UNAVAILABLE,
}


class OtlpBodies(Bodies):
    """Spans, data points and log records, each a row. What can't be one is told to the sender, and the rest is taken.

    Args:
        most_bytes: The size of a record.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes

    def look(self, request: Request) -> None:
        """See Bodies."""
        if _signal(request.path) is None:
            raise NotTaken(Response(404, f"the path ends with {', '.join(_SIGNALS)}, each with its own telemetry"))
        if (kind := _kind(request)) not in (_PROTOBUF, _JSON):
            raise NotTaken(Response(415, f"OTLP is {_PROTOBUF} or {_JSON}, and this is {kind or 'nothing that is said'}"))

    def read(self, request: Request) -> Rows:
        """See Bodies."""
        signal = _signal(request.path)
        assert signal is not None  # noqa: S101 - looked at before
        rows, reasons = [], []
        for shared, item in signal.walk(_message(request, signal.request)):
            try:
                size = fitted(shared.size + item.size, self._most_bytes)
                rows.append(Row({**shared.columns, **item.make()}, size, signal.schema, item.time // 1_000_000 or None))
            except Unfit as error:
                reasons.append(str(error))
        answer = signal.response()
        if reasons:
            setattr(answer.partial_success, signal.rejected, len(reasons))
            told = "; ".join(dict.fromkeys(reasons[:_TOLD]))
            answer.partial_success.error_message = f"{counted(reasons, signal.thing, 'is', 'are')} not taken: {told}"
        return Rows(rows, _answer(request, 200, answer))

    def refused(self, request: Request, response: Response) -> Response:
        """See Bodies: as a Status."""
        if not response.text:
            return response
        code = _CODES.get(response.status, Code.UNKNOWN)
        return _answer(request, response.status, Status(code=code, message=response.text), response)


def _signal(path: str) -> Signal | None:
    return next((signal for end, signal in _SIGNALS.items() if path.endswith(end)), None)


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _message(request: Request, kind: type[Any]) -> Any:
    if _kind(request) == _JSON:
        return from_json(request.body, kind())
    try:
        return kind.FromString(request.body)
    except DecodeError as error:
        raise NotTaken(Response(400, f"the body is no {kind.DESCRIPTOR.full_name}: {error}")) from None


def _answer(request: Request, status: int, message: Any, like: Response | None = None) -> Response:
    is_json = _kind(request) == _JSON
    headers = {**(like.headers if like else {}), "Content-Type": _JSON if is_json else _PROTOBUF}
    data = MessageToJson(message, indent=None).encode() if is_json else message.SerializeToString()
    return Response(status, like.text if like else "", headers, data)
