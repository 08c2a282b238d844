"""The configuration of a connector of Kafka Connect as the one that it has here. Pure."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rocketconnect_cli.imports.secrets import secret_name
from rocketconnect_sdk.options import names_secret
from rocketconnect_sdk.plugins.kafka_names import topic_name

_CLIENTS = ("producer.override.", "consumer.override.", "admin.override.")
_TOPICS = "topic.creation."
_QUEUES = "topic.creation.default.partitions"
_ONCE = ("exactly.once.support", "transaction.boundary", "transaction.boundary.interval.ms", "offsets.storage.topic")
_RENAMED = {"errors.deadletterqueue.context.headers.enable": "errors.deadletterqueue.context.properties.enable"}
_DROPPED = {
    "errors.deadletterqueue.topic.replication.factor": "RocketMQ's brokers replicate all of their topics alike",
    **dict.fromkeys(_ONCE, "delivery is at least once here"),
}
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_TOPIC_OF_SOURCE = ("topic", "kafka.topic", "topic.name", "topic.prefix")
"""Where sources of Kafka say where their records go."""
_MORE_SECRETS = re.compile(r"jaas|user\.info", re.IGNORECASE)
_LOGIN = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@"
    r"|[?&;][\w.-]*(?:passw(?:or)?d|pwd|passphrase|secret|token|credential|(?:api|access|private)[._-]?key)\w*=[^&;\s]"
    r"|jdbc:oracle:\w+:[^/@\s]+/[^@\s]+@",
    re.IGNORECASE,
)
"""A URL with a password, in each of the places where drivers want it."""
_REFERENCE = re.compile(r"\$\{(\w+):")
_OURS = ("env", "file", "vault", "keystore")


@dataclass(slots=True)
class Translated:
    """What became of a configuration.

    Attributes:
        config: As it is stored here: references where there were secrets.
        secrets: What goes into the keystore, by its name there. Never shown.
        secret_keys: The keys of these.
        changes: What is otherwise than it was, a sentence each.
        problems: What has to be corrected first.
    """

    config: dict[str, str]
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    secret_keys: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)


def translated(
    name: str,
    kind: str,
    class_name: str,
    config: Mapping[str, str],
    worker: Mapping[str, str],
    given: Mapping[str, str | None],
    passwords: Collection[str],
) -> Translated:
    """The configuration that a connector has here.

    Args:
        name: Of the connector.
        kind: source or sink.
        class_name: The whole name of its class.
        config: As Kafka Connect has it.
        worker: The configuration of its worker, whose converters hold where a connector names none; empty: not known.
        given: What the user wants otherwise, by key; None leaves the key out.
        passwords: The keys that the plugin itself calls passwords.
    """
    made = Translated({key: text for key, text in config.items() if key != "name"})
    if made.config.get("connector.class") != class_name:
        made.config["connector.class"] = class_name
        made.changes.append(f"connector.class is written out: {class_name}")
    _leave_out(made)
    if kind == "source":
        _name_topic(made, name, given)
    else:
        _rename_topics(made)
    if not config.get("tasks.max"):
        made.changes.append("tasks.max was not given: it is 1")
    _take_converters(made, worker)
    for key, text in given.items():
        if text is None:
            made.config.pop(key, None)
        else:
            made.config[key] = text
    if "topics.regex" in made.config:
        fix = "Name the topics: --set topics=a,b --unset topics.regex"
        made.problems.append(_problem(name, "topics.regex", "is an option of Kafka Connect that is not here", fix))
    _move_secrets(made, name, passwords)
    return made


def _take_converters(made: Translated, worker: Mapping[str, str]) -> None:
    """Of a converter that the worker names its options hold, too, and none of the connector's own."""
    for converter in _CONVERTERS:
        if made.config.get(converter):
            continue
        taken = {key: text for key, text in worker.items() if key == converter or key.startswith(f"{converter}.")}
        if converter in taken:
            made.config |= taken
            made.changes.append(f"{converter} is that of the worker: {taken[converter]}")
        elif converter in _CONVERTERS[:2]:
            made.changes.append(
                f"{converter} was the worker's, which is not known (--worker-config): it is JsonConverter without schemas here"
            )


def _leave_out(made: Translated) -> None:
    for key in sorted(made.config):
        if key.startswith(_CLIENTS):
            _drop(made, key, "there is no client of Kafka")
        elif key.startswith(_TOPICS):
            partitions = made.config[key]
            if key == _QUEUES and partitions.isdecimal() and partitions != "0":
                made.config.setdefault("topic.queues", partitions)
                _drop(made, key, f"topic.queues={made.config['topic.queues']} stands for it")
            else:
                _drop(made, key, "topic.queues and topic.type say what topics become")
        elif key in _DROPPED:
            _drop(made, key, _DROPPED[key])
        elif key in _RENAMED:
            made.config[_RENAMED[key]] = made.config.pop(key)
            made.changes.append(f"{key} is called {_RENAMED[key]}")


def _drop(made: Translated, key: str, why: str) -> None:
    del made.config[key]
    made.changes.append(f"{key} is left out: {why}")


def _name_topic(made: Translated, name: str, given: Mapping[str, str | None]) -> None:
    """A source has a topic of its own here, which is made, whatever topics its records name."""
    key = next((key for key in _TOPIC_OF_SOURCE if made.config.get(key)), "")
    before = made.config.get(key, name) if key else name
    topic = topic_name(before)
    if given.get("topic") or made.config.get("topic") == topic:
        return
    made.config["topic"] = topic
    why = "is renamed, since RocketMQ allows no other characters" if key == "topic" else f"is added, from {key or 'its name'}"
    made.changes.append(f"topic={topic} {why}")


def _rename_topics(made: Translated) -> None:
    for key in ("topics", "errors.deadletterqueue.topic.name"):
        before = made.config.get(key, "")
        after = ",".join(topic_name(each.strip()) for each in before.split(",")) if before else ""
        if before and after != ",".join(each.strip() for each in before.split(",")):
            made.config[key] = after
            made.changes.append(f"{key}={after}: RocketMQ allows fewer characters; other options that name topics stay as they are")


def _move_secrets(made: Translated, name: str, passwords: Collection[str]) -> None:
    for key, text in sorted(made.config.items()):
        is_secret = key in passwords or names_secret(key) or _MORE_SECRETS.search(key) is not None
        if kinds := [kind for kind in _REFERENCE.findall(text) if kind not in _OURS]:
            if is_secret:
                fix = f"Store it (rocketconnect secret set NAME), and name it: --set {key}='${{keystore:NAME}}'"
                made.problems.append(_problem(name, key, f"names a provider of Kafka Connect, {kinds[0]}, which is not here", fix))
            else:
                made.changes.append(f"{key} holds ${{{kinds[0]}:...}}: a provider of Kafka Connect of that name is not here")
        elif text and not _REFERENCE.search(text) and (is_secret or _LOGIN.search(text)):
            secret = secret_name(name, key, made.secrets)
            made.secrets[secret] = text
            made.secret_keys.add(key)
            made.config[key] = f"${{keystore:{secret}}}"


def _problem(name: str, key: str, reason: str, fix: str) -> dict[str, str]:
    return {"key": f"{name}: {key}", "reason": reason, "fix": fix}
