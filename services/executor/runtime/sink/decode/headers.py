"""Properties of messages as headers of records."""

import re
from collections.abc import Mapping

import msgspec

from services.executor.runtime.rocketmq.properties import EMPTY, EXTENSION, KEY_BASE64, TIMESTAMP, TOMBSTONE
from services.executor.runtime.rocketmq.source_marks import PROPERTY

_INTERNAL = frozenset({PROPERTY, TIMESTAMP, TOMBSTONE, KEY_BASE64})
_INTERNAL_PREFIX = "connect-replay-"
_SYSTEM = re.compile(r"[A-Z][A-Z0-9_]*|__.*")
_KEPT = frozenset({"KEYS", "TAGS"})
_names = msgspec.json.Decoder(list[str]).decode


def headers_of(properties: Mapping[str, str], message_id: str) -> Mapping[str, str]:
    """As RocketMQ Connect shows them: extensions without their prefix, RocketMQ's own properties with another one, and the id."""
    headers: dict[str, str] = {}
    for name, value in properties.items():
        if name in _INTERNAL or name.startswith(_INTERNAL_PREFIX):
            continue
        if name == EMPTY and (empty := _empty(value)) is not None:
            headers |= dict.fromkeys(empty, "")
        elif name.startswith(EXTENSION):
            headers[name.removeprefix(EXTENSION)] = value
        elif name in _KEPT or not _SYSTEM.fullmatch(name):
            headers[name] = value
        else:
            headers[f"MQ-SYS-{name}"] = value
    headers["MQ-SYS-MSG_ID"] = message_id
    return headers


def _empty(names: str) -> list[str] | None:
    """The headers without a text; None: somebody else calls a property so."""
    try:
        return _names(names)
    except msgspec.MsgspecError:
        return None
