"""Options of a connector in Java, from its ConfigDef, and what is told to it. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping

from rocketconnect_sdk.configuration import runtime_options
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.plugins.kafka import JavaConnector

HEAP = Option(
    "jvm.heap",
    "How much memory the Java of a task takes for its objects at most. Tasks that share a host process have that of the first.",
    Kind.SIZE,
    "256MiB",
    minimum=32 << 20,
)
_KINDS = {
    "BOOLEAN": Kind.BOOL,
    "DOUBLE": Kind.FLOAT,
    "INT": Kind.INT,
    "LIST": Kind.LIST,
    "LONG": Kind.INT,
    "SHORT": Kind.INT,
}
_RUNTIME = (*runtime_options.COMMON, *runtime_options.CONVERTERS)
_NOT_YET = {
    "topics.regex": "Name the topics in `topics`.",
    "exactly.once.support": "Leave it out: delivery is at least once.",
    "transaction.boundary": "Leave it out: delivery is at least once.",
    "offsets.storage.topic": "Leave it out: positions are kept by the position service.",
    "topic.creation.groups": "Leave it out: topic.queues and topic.type say what topics become.",
}


def options_of(connector: JavaConnector) -> tuple[Option, ...]:
    """Its options, but for those that the runtime has under the same name, which mean the same."""
    own = runtime_options.SOURCE if connector.direction == "source" else runtime_options.SINK
    taken = {key for option in (*_RUNTIME, *own, HEAP) for key in (option.key, *option.aliases)}
    made = [
        Option(
            option.key,
            option.doc or "Its documentation says nothing.",
            _KINDS.get(option.type, Kind.STRING),
            option.default,
            required=option.required,
            secret=option.type == "PASSWORD",
            references=option.type != "PASSWORD",
        )
        for option in connector.options
        if option.key not in taken
    ]
    return (*made, HEAP)


def properties(config: Config, name: str) -> dict[str, str]:
    """What a connector is told: the configuration as the user wrote it, with the names that Kafka Connect has for some of it."""
    return {"name": name, **config.raw, **config.own, "tasks.max": config.raw.get("tasks.max") or config.raw.get("max.tasks", "1")}


def refused(config: Config) -> Iterator[Problem]:
    """Options of Kafka Connect that are not there yet."""
    for key, fix in _NOT_YET.items():
        if key in config.raw:
            yield Problem(key, config.raw[key][:200], "is an option of Kafka Connect that is not here", fix)
    for key in config.raw:
        if key.startswith(("producer.override.", "consumer.override.", "admin.override.")):
            yield Problem(key, "", "is for a client of Kafka, and there is none here", "Remove it.")


SECRET = "${secret:%s}"  # noqa: S105 - where one was


def concealed(told: Mapping[str, str], task: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """What a task is told beyond the connector, without the secrets that it holds again: names of options in their place."""
    changed = {key: text for key, text in task.items() if told.get(key) != text}
    hidden = {secret: SECRET % key for key in secrets if (secret := told.get(key))}
    return _replaced(changed, hidden)


def revealed(told: Mapping[str, str], changed: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """What a task is told: see concealed."""
    shown = {SECRET % key: secret for key in secrets if (secret := told.get(key))}
    return {**told, **_replaced(changed, shown)}


def _replaced(texts: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """In one go, the longest first: of what was put in nothing is replaced again, and no part of a secret is left."""
    if not others:
        return dict(texts)
    found = re.compile("|".join(re.escape(each) for each in sorted(others, key=len, reverse=True)))
    return {name: found.sub(lambda match: others[match[0]], text) for name, text in texts.items()}
