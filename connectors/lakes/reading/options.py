"""The options that sources of lakes share, and what they mean."""

from datetime import UTC, datetime
from enum import Enum

from rocketconnect_sdk.options import Config, Kind, Option

ON_GAP = "on.gap"

_START_FIX = "Write earliest, latest, the number of a version such as 12, or a time such as 2026-01-31T00:00:00Z."


class Start(Enum):
    """Where reading begins that is named neither by a version nor by a time."""

    EARLIEST = "earliest"
    LATEST = "latest"


def parse_start(text: str) -> Start | int | float:
    """Where reading begins: an end, a version, or a time in seconds since 1970.

    Raises:
        ValueError: it is none of these.
    """
    if text in ("earliest", "latest"):
        return Start(text)
    if text.isdecimal() and text.isascii():
        return int(text)
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _start_problem(text: str) -> str | None:
    try:
        parse_start(text)
    except ValueError as error:
        return str(error)
    return None


def start(version: str) -> Option:
    """Where reading begins.

    Args:
        version: What a number means.
    """
    return Option(
        "start",
        "Where reading begins while there is no position. earliest: with all rows that the table has, then what is added. latest: "
        f"with what is added from now on. A number: {version}. A time such as 2026-01-31T00:00:00Z: with the first one that is not "
        "older (UTC, where it has no zone).",
        default="earliest",
        check=_start_problem,
        fix=_START_FIX,
    )


READING = (
    Option(
        "key.columns",
        "The columns of the keys of records. Empty: records have no keys.",
        Kind.LIST,
        "",
    ),
    Option("poll.interval", "How often it looks for a new version.", Kind.DURATION, "1s", minimum=0, maximum=3600),
    Option(
        "splits",
        "The files of each version are dealt out to so many parts, which as many tasks can read at once. Rows are in the order of "
        "versions within a part only. Not to be changed while there are positions.",
        Kind.INT,
        "1",
        minimum=1,
        maximum=1000,
    ),
    Option(
        "on.rewrite",
        "When a version does more than to add rows: it deletes, updates, merges or overwrites some. fail; or skip all of that "
        "version, and say so. What only lays rows out anew, as a compaction does, is passed in any case.",
        default="fail",
        choices=("fail", "skip"),
    ),
)


def skips_gaps(config: Config) -> bool:
    """Whether what is gone is passed, as the runtime's option on.gap says."""
    return ON_GAP in config and config[ON_GAP] == "skip"
