"""The options that sources of logs share, and what they mean."""

from datetime import UTC, datetime
from enum import Enum

from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.registry.options import OPTIONS as REGISTRY

FORMATS = ("bytes", "string", "json", "avro", "json_schema", "protobuf")
_REGISTERED = ("avro", "json_schema", "protobuf")


class HeaderForm(Enum):
    """What becomes of headers."""

    TEXT = "text"
    JSON = "json"
    NONE = "none"


def parse_start(text: str) -> str | float:
    """Where reading begins: "earliest", "latest", or a time in seconds since 1970.

    Raises:
        ValueError: it is none of these.
    """
    if text in ("earliest", "latest"):
        return text
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _start_problem(text: str) -> str | None:
    try:
        parse_start(text)
    except ValueError as error:
        return str(error)
    return None


STARTING = (
    Option(
        "start",
        "Where partitions are begun that have no position. earliest: at the first record that is still there. latest: behind the "
        "last one; partitions that are found while it runs are read from their beginning. A time such as 2026-01-31T00:00:00Z: at "
        "the first record that is not older (UTC, where it has no zone).",
        default="earliest",
        check=_start_problem,
        fix="Write earliest, latest, or a time such as 2026-01-31T00:00:00Z.",
    ),
    Option("discover.interval", "How often it looks for new partitions.", Kind.DURATION, "30s", minimum=0.1, maximum=86400),
)
"""Where reading begins, and how new partitions are found."""
READING = (
    *STARTING,
    Option(
        "value.format",
        "What values are. bytes: they pass as they are, with the ids of schemas, too (value.converter=bytes; string where all of "
        "them are text). Any other: they are read with the converter of that name, and value.converter writes them.",
        default="bytes",
        choices=FORMATS,
    ),
    Option(
        "key.format",
        "What keys are, as in value.format; key.converter writes them.",
        default="bytes",
        choices=FORMATS,
    ),
    Option(
        "schemas.enable",
        "With value.format or key.format json: they are envelopes {schema, payload}, as Kafka Connect's JsonConverter writes them.",
        Kind.BOOL,
        "false",
    ),
    Option(
        "headers",
        "text: headers stay headers; a record with one that is no text, or that stands there twice, is a bad record. json: all of "
        "them, exactly, are one header `headers`: a JSON list of pairs of a name and a value in base64. none: they are left out.",
        default=HeaderForm.TEXT.value,
        choices=tuple(form.value for form in HeaderForm),
    ),
    *(
        Option(
            option.key,
            f"With value.format or key.format {', '.join(_REGISTERED)}: {option.doc[0].lower()}{option.doc[1:]}",
            option.kind,
            option.default,
            secret=option.secret,
            minimum=option.minimum,
            maximum=option.maximum,
            check=option.check,
            fix=option.fix,
            access=option.access,
            reaches=option.reaches,
        )
        for option in REGISTRY
    ),
)
"""Where reading begins, and what records are."""


def is_registered(name: str) -> bool:
    """Whether a format needs a registry."""
    return name in _REGISTERED


def skips_gaps(config: Config) -> bool:
    """Whether what is gone is passed, as the runtime's option on.gap says."""
    return "on.gap" in config and config["on.gap"] == "skip"


def format_settings(config: Config, name: str) -> dict[str, str]:
    """The options of the converter of a format."""
    if name == "json":
        return {"schemas.enable": str(config["schemas.enable"]).lower()}
    if not is_registered(name):
        return {}
    return {option.key: config.raw[option.key] for option in REGISTRY if option.key in config.raw}
