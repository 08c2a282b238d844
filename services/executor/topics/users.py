"""Which connectors use a topic, by what their configurations name. Pure."""

import re
from collections.abc import Iterable, Mapping

from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_sdk.configuration.runtime_options import CLASS

_PLACEHOLDER = re.compile(r"\\\$\\\{\w+\\\}")
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_TABLE_TOPIC = "${topic}-${table}"
"""What those that capture tables make of their topic, where they are not told otherwise: with more between the two."""


def users(topic: str, there: Iterable[connectors.Connector]) -> tuple[list[str], list[str]]:
    """Return who uses a topic: connectors that are wanted RUNNING, each with what it does, and the names of the others."""
    running: list[str] = []
    waiting: list[str] = []
    for each in there:
        does = use(topic, each.config)
        if does and each.wanted_state in (connectors.WANTED_STATE_PAUSED, connectors.WANTED_STATE_STOPPED):
            waiting.append(each.name)
        elif does:
            running.append(f"{each.name} {does}")
    return running, waiting


def keeps_letters(topic: str, there: Iterable[connectors.Connector]) -> bool:
    """Return whether a connector has its dead letters in a topic."""
    return any(topic in _names(each.config, (_DEAD_LETTERS,)) for each in there)


def use(topic: str, config: Mapping[str, str]) -> str:
    """Return what a connector does with a topic: "reads it", "writes it", "has its dead letters there"; empty: nothing."""
    if topic in _names(config, ("topics", "connect.topicnames", "replay.topic")):
        return "reads it"
    if topic in _names(config, (_DEAD_LETTERS,)):
        return "has its dead letters there"
    if topic in _names(config, ("topic", "connect.topicname", "replay.to")) or _is_of_table(topic, config):
        return "writes it"
    return ""


def _names(config: Mapping[str, str], keys: Iterable[str]) -> set[str]:
    return {name.strip() for key in keys for name in config.get(key, "").split(",")}


def _is_of_table(topic: str, config: Mapping[str, str]) -> bool:
    """Whether a topic may be one that a source makes for a table."""
    prefix = config.get("topic.prefix", "").strip()
    if prefix and topic.startswith(prefix):
        return True
    is_capture = "cdc" in config.get(CLASS.key, "").casefold()
    template = config.get("table.topic", _TABLE_TOPIC if is_capture else "").strip()
    own = config.get("topic", "").strip()
    pattern = _PLACEHOLDER.sub(".+", re.escape(template.replace("${topic}", own)))
    return bool(template and own) and re.fullmatch(pattern, topic) is not None
