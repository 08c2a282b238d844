"""What the text of a log record becomes, as the options say."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from connectors.logs.grok import Grok, own_patterns
from connectors.logs.logfmt import read_logfmt
from connectors.logs.syslog import read_syslog
from connectors.logs.unfit import Unfit
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config

RAW, JSON, LOGFMT, GROK, SYSLOG = "raw", "json", "logfmt", "grok", "syslog"
FORMS = (RAW, JSON, LOGFMT, GROK, SYSLOG)
Read = Callable[[str], Any]
"""Makes a value of the text of a record. Raises Unfit: it is none."""


def reader_of(config: Config) -> Read:
    """What reads records, by the options format, grok, grok.patterns and time.zone."""
    form = config["format"]
    if form == GROK:
        return grok_of(config).read
    if form == SYSLOG:
        zone = ZoneInfo(config["time.zone"])
        return lambda text: read_syslog(text, datetime.now(zone), strict=True).fields
    if form == RAW:
        return str
    return _json if form == JSON else read_logfmt


def grok_of(config: Config) -> Grok:
    """The patterns.

    Raises:
        ValueError: one can't be used.
    """
    return Grok(list(filter(None, map(str.strip, config["grok"].splitlines()))), own_patterns(config["grok.patterns"]))


def grok_problems(config: Config) -> Iterable[Problem]:
    """Patterns that can't be used, or that nothing uses."""
    if config["format"] != GROK:
        for key in ("grok", "grok.patterns"):
            if config[key]:
                yield Problem(
                    key, config[key][:200], f"means nothing with format={config['format']}", "Set format=grok, or remove it."
                )
        return
    if not config["grok"].strip():
        yield Problem("grok", "", "is needed with format=grok", "Write a pattern, such as %{COMBINEDAPACHELOG}.")
        return
    try:
        grok_of(config)
    except ValueError as error:
        yield Problem("grok", config["grok"][:200], str(error), "Correct the pattern, or name what it uses in grok.patterns.")


def _json(text: str) -> Any:
    try:
        return value_of(text)
    except (NotJson, RecordError) as error:
        raise Unfit("InvalidJson", f"it is no JSON: {error}") from None
