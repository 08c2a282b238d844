"""The options of targets and of rules."""

import re
from collections.abc import Sequence
from dataclasses import replace

from connectors.eventbridge.paths import PATH_FIX, Path
from connectors.http.sink import HttpSink
from rocketconnect_sdk.options import Kind, Option

TARGETS, RULES = "targets", "rules"
_OF_TARGETS = (
    *("url", "method", "headers", "content.type", "request.parallel", "idempotency.header", "request.timeout"),
    *("user", "password", "token", "api.key", "api.key.header", "hmac.secret", "hmac.form", "hmac.header"),
)
_KINDS = ("oauth.", "ssl.")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_DOCS = {
    "url": "Where requests go, as `url` of http_sink.",
    "content.type": "What bodies are, such as application/cloudevents+json.",
    "idempotency.header": "A header with a name of the record and the rule that is the same each time that they are sent, such as "
    "Idempotency-Key. Empty: none.",
    "request.parallel": "The most requests in flight to this target. Records of one key go one after the other, and so "
    "do all without a key. Each target has requests of its own under way.",
}


def names_problem(names: Sequence[str]) -> str | None:
    """What is wrong with the names of targets or rules; None: nothing."""
    if not names:
        return "names nothing"
    if wrong := next((name for name in names if not _NAME.fullmatch(name)), None):
        return f"has {wrong[:100]!r}, and names are letters, digits, - and _"
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"names {twice} twice"


def variables_of(pairs: Sequence[str]) -> dict[str, Path]:
    """The places of variables by their names. Raises ValueError: what is wrong with them."""
    found: dict[str, Path] = {}
    for pair in pairs:
        name, equals, source = (part.strip() for part in pair.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
            msg = f"{pair[:100]!r} is no NAME=PATH, with letters, digits, ., - and _ in the name"
            raise ValueError(msg)
        if name.lower().startswith("aws.") or name in found:
            msg = f"{name} is {'named twice' if name in found else 'a name of its own, as all that begin with aws.'}"
            raise ValueError(msg)
        try:
            found[name] = Path.read(source)
        except ValueError as error:
            msg = f"the path {source[:100]} of {name} {error}"
            raise ValueError(msg) from None
    return found


def _variables_problem(pairs: Sequence[str]) -> str | None:
    try:
        variables_of(pairs)
    except ValueError as error:
        return str(error)
    return None


def _path_problem(source: str) -> str | None:
    try:
        if source:
            Path.read(source)
    except ValueError as error:
        return str(error)
    return None


def _of_target(option: Option) -> Option:
    key, aliases = f"{TARGETS}.NAME.{option.key}", [f"{TARGETS}.NAME.{alias}" for alias in option.aliases]
    default = "application/json" if option.key == "content.type" else option.default
    return replace(option, key=key, aliases=aliases, doc=_DOCS.get(option.key, option.doc), default=default)


_NAMES_FIX = "Write names of your own, separated by commas: billing,audit."
OPTIONS = (
    Option(
        TARGETS,
        "The names of the targets, separated by commas. Each has options of its own: targets.NAME.url.",
        Kind.LIST,
        required=True,
        check=names_problem,
        fix=_NAMES_FIX,
        example="shop",
    ),
    *(_of_target(each) for each in HttpSink.options if each.key in _OF_TARGETS or each.key.startswith(_KINDS)),
    Option(
        RULES,
        "The names of the rules, separated by commas. Each has options of its own: rules.NAME.pattern. A record goes to the "
        "targets of each rule that matches it.",
        Kind.LIST,
        required=True,
        check=names_problem,
        fix=_NAMES_FIX,
        example="paid",
    ),
    Option(
        "rules.NAME.pattern",
        'The events that the rule is for, as a pattern of Amazon EventBridge in JSON: {"type": [{"prefix": "order."}]}. {} is for '
        "all.",
        required=True,
        example='{"status": ["paid"]}',
    ),
    Option(
        "rules.NAME.targets",
        "The targets that these go to, separated by commas.",
        Kind.LIST,
        required=True,
        check=names_problem,
        fix="Write names that `targets` has, separated by commas.",
        example="shop",
    ),
    Option("rules.NAME.input", "What is sent in the place of the event, the same each time. Empty: the event.", default=""),
    Option(
        "rules.NAME.input.path",
        "The place of the event that is sent in the place of all of it: $.detail. Empty: all of it.",
        default="",
        check=_path_problem,
        fix=PATH_FIX,
    ),
    Option(
        "rules.NAME.input.paths",
        "Variables for rules.NAME.input.template, each NAME=PATH, separated by commas: id=$.detail.id,first=$.items[0].",
        Kind.LIST,
        default="",
        check=_variables_problem,
        fix=f"Write NAME=PATH, separated by commas. {PATH_FIX}",
    ),
    Option(
        "rules.NAME.input.template",
        'What is sent in the place of the event, with <NAME> for variables: {"id": <id>, "text": "order <id> came"}. Empty: no '
        "template.",
        default="",
    ),
    Option(
        "rules.NAME.maximum.attempts",
        "How often a record is sent to a target that fails or is away, before it becomes a bad record. Not "
        "given: until rules.NAME.maximum.age.",
        Kind.INT,
        minimum=1,
        maximum=1_000_000,
    ),
    Option(
        "rules.NAME.maximum.age",
        "How long it is retried, from the first time on; of a target that is away from when it was found so.",
        Kind.DURATION,
        "24h",
        minimum=0,
    ),
)
