"""Where the records of a source may go. The topic of a configuration is its author's; others are named by what records say."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rocketconnect_sdk.configuration.linear_patterns import Allowed, allowed_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.routes.names import TOPIC_LENGTH, topic_problem
from rocketconnect_sdk.routes.reserved import is_reserved

ALLOWED = Option(
    "topic.allowed",
    "The topics, beside `topic`, that records may go to where a template or a transform names them: regular expressions, of which "
    "one matches the whole name. Empty: all but those of RocketMQ and RocketConnect themselves, which no record may name.",
    Kind.LIST,
    "",
    check=allowed_problem,
    fix="Write regular expressions that match whole names, such as plant-.*,alarms.",
)
_KEPT = 10_000
"""Invariant 7: of so many topics it is kept whether records may name them."""


class Routes:
    """Which topics the records of a run may name. For one thread.

    Args:
        topic: That of the configuration, which is allowed whatever it is.
        allowed: What topic.allowed says.
        own: Others that the source writes to of its own, whatever they are.

    Attributes:
        topic: The same.
    """

    def __init__(self, topic: str, allowed: Sequence[str] = (), own: Sequence[str] = ()) -> None:
        self.topic = topic
        self._own = ("", topic, *own)
        self._allowed = Allowed(allowed) if allowed else None
        self._known = lru_cache(_KEPT)(self._looked_at)

    @classmethod
    def of(cls, config: Config, own: Sequence[str] = ()) -> "Routes":
        """As the configuration of a source says."""
        return cls(config["topic"], config[ALLOWED.key], own)

    def problem(self, topic: str) -> str:
        """Why a record may not go to a topic; empty: it may. An empty topic stands for that of the configuration."""
        if topic in self._own:
            return ""
        return self._known(topic) if len(topic) <= TOPIC_LENGTH else self._looked_at(topic)

    def _looked_at(self, topic: str) -> str:
        if is_reserved(topic):
            return f"names the topic {topic[:200]}, which is for RocketMQ or RocketConnect itself"
        if wrong := topic_problem(topic):
            return f"names the topic {topic[:200]!r}, which {wrong}"
        if self._allowed and not self._allowed.has(topic):
            return f"names the topic {topic}, which {ALLOWED.key} does not allow"
        return ""


def naming_problems(config: Config, key: str) -> Iterable[Problem]:
    """What is wrong with a template of topics that is filled with what others say who may send records, and no more.

    Args:
        config: The configuration. That of a direct connector has no topics.
        key: The option of the template.
    """
    template: str = config[key]
    if "${" in template and ALLOWED.key in config and not config[ALLOWED.key]:
        fix = f"{ALLOWED.fix} .* allows all but RocketMQ's and RocketConnect's own."
        yield Problem(ALLOWED.key, "", f"is needed with {key}={template}: else who sends a record chooses any topic", fix)
