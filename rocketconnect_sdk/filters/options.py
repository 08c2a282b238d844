"""The options by which a sink has brokers leave messages out, and what is wrong with them."""

from collections.abc import Iterable, Sequence

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.filters.expressions import expression_problem
from rocketconnect_sdk.options import Config, Kind, Option

_OR = "||"


def _split(tags: Iterable[str]) -> list[str]:
    return [tag for given in tags if (tag := given.strip())]


def _tags_problem(given: Sequence[str]) -> str | None:
    for tag in (each for one in given for each in one.split(_OR)):
        if not tag.strip():
            return f"has an empty tag beside {_OR}"
        if tag.strip() == "*":
            return "has *, which is no tag: where all messages are to be read there is no filter"
        if not tag.strip().isprintable():
            return f"has {tag.strip()[:50]!r}, and tags have printable characters alone"
    return None


TAGS = Option(
    "consume.tags",
    "Only messages with one of these tags, separated by commas or by ||, are read; brokers leave the others out, and positions "
    "pass them. Empty: all. Not for batch topics. See docs/messages.md.",
    Kind.LIST,
    "",
    check=_tags_problem,
    fix="Write new,paid or new || paid, or leave it out.",
)
SQL = Option(
    "consume.sql",
    "Only messages whose properties fit this SQL92 expression of RocketMQ are read, such as TAGS = 'new' AND amount > 100; brokers "
    "need enablePropertyFilter=true. Empty: all. Not for batch topics.",
    default="",
    check=lambda text: expression_problem(text) if text else None,
    fix="Write for instance country = 'CH' AND amount BETWEEN 10 AND 20: see docs/messages.md.",
)
OPTIONS = (TAGS, SQL)


def tags_of(config: Config) -> Sequence[str]:
    """The tags of messages that are read; empty: tags do not matter."""
    return list(dict.fromkeys(_split(tag for given in config[TAGS.key] for tag in given.split(_OR))))


def filter_problems(config: Config) -> Iterable[Problem]:
    """What does not go together. Asks nobody."""
    tags, expression = tags_of(config), config[SQL.key]
    if tags and expression:
        wanted = ", ".join(f"'{tag}'" for tag in tags)
        fix = f"Leave it out, and set {SQL.key} to TAGS IN ({wanted}) AND ({expression[:200]})."
        yield Problem(TAGS.key, ",".join(tags)[:200], f"cannot be given beside {SQL.key}: brokers take one filter", fix)
    if (tags or expression) and config["topic.type"] == "batch":
        reason = "makes topics whose messages brokers store in units, and cannot filter one by one"
        fix = f"Set topic.type=normal, or leave out {TAGS.key} and {SQL.key}."
        yield Problem("topic.type", "batch", reason, fix)
