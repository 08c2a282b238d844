"""What is told of a configuration and refuses nothing, where an API of another system has no place for it."""

import json
from collections.abc import Iterable, Iterator

from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.logs import get_logger

HEADER = "Warning"
_LONGEST = 2_000
"""Of the header: servers that stand before a gateway allow 4 or 8 KiB for all headers together."""

_log = get_logger(__name__)


def log(name: str, warnings: Iterable[connector_pb2.Problem]) -> None:
    """Leave them in the log of this gateway: clients of other systems may show no header.

    Args:
        name: Of the connector.
        warnings: Of its configuration, without secrets.
    """
    for each in warnings:
        _log.warning("a configuration was stored with a warning", connector=name, key=each.key, told=_sentence(each))


def headers(warnings: Iterable[connector_pb2.Problem]) -> dict[str, str]:
    """Return the header with them, as RFC 7234 has it; none where nothing is told. What does not fit is counted. Pure."""
    texts = [f"299 - {_quoted(_sentence(each))}" for each in warnings]
    return {HEADER: ", ".join(_fitting(texts))} if texts else {}


def _fitting(texts: list[str]) -> Iterator[str]:
    left = _LONGEST
    for index, text in enumerate(texts):
        left -= len(text)
        if left < 0:
            yield f"299 - {_quoted(f'{len(texts) - index} more: the log of the gateway has them')}"
            return
        yield text


def _sentence(warning: connector_pb2.Problem) -> str:
    given = f" (given: {warning.value})" if warning.value else ""
    return f"{warning.key or 'configuration'} {warning.reason.rstrip('.')}{given}. {warning.fix}".strip()


def _quoted(text: str) -> str:
    # ASCII alone, and no end of a line: other characters are written as in JSON.
    return json.dumps(text).replace("\x7f", "\\u007f")
