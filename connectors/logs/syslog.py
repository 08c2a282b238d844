"""Messages of syslog: RFC 5424, and what RFC 3164 describes. Pure.

Fields are named as most tools name them: facility, severity, version, timestamp, hostname, appname, procid, msgid, structured_data,
message. What a message does not have is left out.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from connectors.logs.unfit import Unfit

FACILITIES = (
    *("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit"),
    *("alert", "clock", *(f"local{number}" for number in range(8))),
)
SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_PRIORITY = re.compile(r"<(\d{1,3})>")
_NEW = re.compile(r"([1-9]\d{0,2}) (\S+) (\S{1,255}) (\S{1,255}) (\S{1,255}) (\S{1,255}) ")
_ELEMENT = re.compile(r'\[([^\s="\]]{1,255})((?: [^\s="\]]{1,255}="(?:[^"\\\]]|\\.)*+")*+)\]', re.DOTALL)
_PAIR = re.compile(r' ([^\s="\]]+)="((?:[^"\\\]]|\\.)*+)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\\]])')
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_OLD_TIME = re.compile(
    rf"(?P<month>{'|'.join(_MONTHS)}) {{1,2}}(?P<day>\d{{1,2}})(?: (?P<year>\d{{4}}))? "
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<part>\.\d{1,9})?:? "
)
_ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) ")
_HOST = re.compile(r"([^\s:\[\]]++|[0-9A-Fa-f]*+:[0-9A-Fa-f:.]++) ")
_TAG = re.compile(r"([^\s:\[\]]{1,255}+)(?:\[([^\]\s]{0,128}+)\])?:(?: |$)")
_NIL = "-"
_MARK = "\ufeff"
_AHEAD = timedelta(days=1)
"""A time that is so far ahead is one of the year before: messages at the end of a year have none."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of syslog.

    Attributes:
        fields: As they are named above.
        time_ms: Since 1970; None: it has no time.
    """

    fields: dict[str, Any]
    time_ms: int | None


def read_syslog(text: str, now: datetime, *, strict: bool) -> Message:
    """A message.

    Args:
        text: Of it, without what frames it.
        now: The time, in the zone that times without one are of; years that are not told are those around it.
        strict: What has no time is none. Otherwise all of it is a message of RFC 3164, which may be anything.

    Raises:
        Unfit: it is none.
    """
    fields: dict[str, Any] = {}
    rest = text
    if match := _PRIORITY.match(text):
        facility, severity = divmod(int(match[1]), 8)
        if facility >= len(FACILITIES):
            raise Unfit("InvalidSyslog", f"its priority is {match[1]}, and 191 is the highest")
        fields = {"facility": FACILITIES[facility], "severity": SEVERITIES[severity]}
        rest = text[match.end() :]
        if (found := _new(rest, fields, now.tzinfo)) is not None:
            return found
    return _old(rest, fields, now, strict=strict)


def _new(text: str, fields: dict[str, Any], zone: tzinfo | None) -> Message | None:
    match = _NEW.match(f"{text} ")
    if match is None:
        return None
    version, stamp, hostname, appname, procid, msgid = match.groups()
    moment = None if stamp == _NIL else _moment(stamp, zone)
    if moment is None and stamp != _NIL:
        return None
    at = match.end()
    data: dict[str, dict[str, str]] = {}
    if text.startswith(_NIL, at):
        at += 1
    else:
        while element := _ELEMENT.match(text, at):
            pairs = {name: _ESCAPED.sub(r"\1", value) for name, value in _PAIR.findall(element[2])}
            data[element[1]] = {**data.get(element[1], {}), **pairs}
            at = element.end()
        if not data:
            return None
    if at < len(text) and text[at] != " ":
        return None
    named = {"timestamp": stamp, "hostname": hostname, "appname": appname, "procid": procid, "msgid": msgid}
    found = {**fields, "version": int(version), **{name: each for name, each in named.items() if each != _NIL}}
    if data:
        found["structured_data"] = data
    found["message"] = text[at + 1 :].removeprefix(_MARK)
    return Message(found, _ms(moment))


def _old(text: str, fields: dict[str, Any], now: datetime, *, strict: bool) -> Message:
    moment, at = _old_moment(text, now)
    if moment is None:
        if strict:
            raise Unfit("InvalidSyslog", "it begins with no time, as a message of syslog does")
        return Message({**fields, "message": text}, None)
    found = {**fields, "timestamp": moment.isoformat()}
    # Programs of the same machine leave the host out.
    if not _TAG.match(text, at) and (host := _HOST.match(text, at)):
        found["hostname"] = host[1]
        at = host.end()
    if tag := _TAG.match(text, at):
        found["appname"] = tag[1]
        if tag[2]:
            found["procid"] = tag[2]
        at = tag.end()
    found["message"] = text[at:]
    return Message(found, _ms(moment))


def _old_moment(text: str, now: datetime) -> tuple[datetime | None, int]:
    """The time that a text begins with, and where the rest begins; None: there is none."""
    if match := _ISO_TIME.match(text):
        return _moment(match[1].replace(",", "."), now.tzinfo), match.end()
    if (match := _OLD_TIME.match(text)) is None:
        return None, 0
    parts = [_MONTHS.index(match["month"]) + 1, *(int(match[name]) for name in ("day", "hour", "minute", "second"))]
    micros = int(f"{match['part'] or '.'}000000"[1:7])
    # The 29th of February is none of every year.
    for year in [int(match["year"])] if match["year"] else [now.year, now.year - 1, now.year + 1]:
        try:
            found = datetime(year, *parts, micros, tzinfo=now.tzinfo)  # type: ignore[misc,arg-type]  # five numbers
        except ValueError:
            continue
        if match["year"] or now - timedelta(days=364) < found <= now + _AHEAD:
            return found, match.end()
    return None, 0


def _moment(stamp: str, zone: tzinfo | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
