"""What texts become: logfmt, grok, syslog."""

import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from connectors.logs.grok import Grok, own_patterns
from connectors.logs.grok_library import PATTERNS
from connectors.logs.logfmt import read_logfmt
from connectors.logs.syslog import read_syslog
from connectors.logs.unfit import Unfit

NOW = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'level=info msg="a \\"b\\" \\\\ \\u00fc" empty= none flag',
            {"level": "info", "msg": 'a "b" \\ ü', "empty": "", "none": True, "flag": True},
        ),
        ("  a=1\ta=2\n", {"a": "2"}),
        ("url=http://x/?a=b&c=d,e n=ünï", {"url": "http://x/?a=b&c=d,e", "n": "ünï"}),
        ('multi="one\ntwo"', {"multi": "one\ntwo"}),
    ],
)
def test_pairs_of_logfmt_are_read(text: str, expected: dict[str, object]) -> None:
    assert read_logfmt(text) == expected


@pytest.mark.parametrize("text", ["only words here", "=1", 'a="open', 'a="b"c', 'a=b"c', '"a"=1'])
def test_what_is_no_logfmt_is_told(text: str) -> None:
    with pytest.raises(Unfit, match=r"logfmt|key=value"):
        read_logfmt(text)


def test_every_pattern_of_the_library_compiles() -> None:
    for name in PATTERNS:
        Grok([f"%{{{name}:x}}"], {})


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("IP", ["10.0.0.255", "::1", "fe80::1%eth0", "2001:db8:0:0:1:0:0:1", "::ffff:10.1.2.3"]),
        ("IPV4", ["0.0.0.0", "255.255.255.255"]),
        ("HOSTNAME", ["a", "web-1.example.com", "localhost"]),
        ("NUMBER", ["0", "-1.5", "+3", ".5", "10."]),
        ("WORD", ["a_1", "ünï"]),
        ("UUID", ["123e4567-e89b-12d3-a456-426614174000"]),
        ("QUOTEDSTRING", ['"a \\" b"', "'x'", '""']),
        ("TIMESTAMP_ISO8601", ["2026-01-02T03:04:05.678Z", "2026-01-02 03:04:05,678", "2026-01-02T03:04+01:00"]),
        ("SYSLOGTIMESTAMP", ["Jan  2 03:04:05", "Dec 31 23:59:60"]),
        ("HTTPDATE", ["10/Oct/2000:13:55:36 -0700"]),
        ("DATESTAMP_RFC2822", ["Mon, 5 Jan 2026 10:00:00 +0000"]),
        ("LOGLEVEL", ["INFO", "warn", "Warning", "ERROR"]),
        ("URI", ["http://user:pw@example.com:8080/a/b?c=d&e", "ftp://10.0.0.1/x"]),
        ("PATH", ["/var/log/a.log", "C:\\Windows\\x.log"]),
        ("EMAILADDRESS", ["a.b+c@example.com"]),
        ("MAC", ["00:1a:2b:3c:4d:5e", "001a.2b3c.4d5e", "00-1A-2B-3C-4D-5E"]),
        ("JAVACLASS", ["com.example.Main$Inner"]),
    ],
)
def test_named_patterns_match_the_whole_of_what_they_are_for(pattern: str, texts: list[str]) -> None:
    for text in texts:
        assert Grok([f"^%{{{pattern}:x}}$"], {}).read(text) == {"x": text}


@pytest.mark.parametrize(
    ("pattern", "text"), [("IPV4", "1.2.3.256"), ("POSINT", "0"), ("MONTH", "Foo"), ("IP", "12:30:45"), ("UUID", "123e")]
)
def test_named_patterns_match_nothing_else(pattern: str, text: str) -> None:
    with pytest.raises(Unfit, match="no pattern of `grok`"):
        Grok([f"^%{{{pattern}}}$"], {}).read(text)


def test_a_line_of_a_web_server_becomes_its_fields() -> None:
    line = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?b=c HTTP/1.0" 200 2326 "http://x/" "Mozilla/4.08 [en]"'
    expected = {
        "clientip": "127.0.0.1",
        "ident": "-",
        "auth": "frank",
        "timestamp": "10/Oct/2000:13:55:36 -0700",
        "verb": "GET",
        "request": "/a.gif?b=c",
        "httpversion": "1.0",
        "response": "200",
        "bytes": "2326",
        "referrer": '"http://x/"',
        "agent": '"Mozilla/4.08 [en]"',
    }
    assert Grok(["%{COMBINEDAPACHELOG}"], {}).read(line) == expected


def test_fields_have_types_and_places_and_patterns_of_ones_own() -> None:
    own = own_patterns("ORDER [A-Z]{2}-\\d+\n\nPAIR %{WORD:[http][verb]}/%{NUMBER:[http][took]:float}")
    grok = Grok(["^%{ORDER:order} %{PAIR} (?<rest>.*)$", "%{INT:n:int}|%{WORD:w}", "%{INT:n}"], own)
    assert grok.read("AB-12 GET/1.5 one\ntwo") == {"order": "AB-12", "http": {"verb": "GET", "took": 1.5}, "rest": "one\ntwo"}
    assert grok.read("x") == {"w": "x"}
    assert grok.read("7") == {"n": 7}


def test_a_text_that_does_not_match_takes_no_longer_than_it_may() -> None:
    grok = Grok(["%{COMBINEDAPACHELOG}", "%{SYSLOGLINE}", "%{URI:u} %{EMAILADDRESS:e}!", "^%{DATA:a} %{DATA:b}#$"], {})
    begun = time.process_time()
    for text in ("a.b-" * 1_000, "/a" * 2_000, "1.1." * 1_000, '"' + "\\x" * 2_000, "x" * 200_000):
        with pytest.raises(Unfit):
            grok.read(text)
    # A pattern that tries every way takes longer than anybody waits.
    assert time.process_time() - begun < 60


SYSLOG: list[tuple[str, dict[str, Any], str | None]] = [
    (
        '<165>1 2026-01-02T03:04:05.678Z web.example.com app 77 ID47 [a@1 x="1" y="q\\"\\]\\\\"][b@2] \ufeffhello ünï',
        {
            "facility": "local4",
            "severity": "notice",
            "version": 1,
            "timestamp": "2026-01-02T03:04:05.678Z",
            "hostname": "web.example.com",
            "appname": "app",
            "procid": "77",
            "msgid": "ID47",
            "structured_data": {"a@1": {"x": "1", "y": 'q"]\\'}, "b@2": {}},
            "message": "hello ünï",
        },
        "2026-01-02T03:04:05.678+00:00",
    ),
    ("<0>1 - - - - - -", {"facility": "kern", "severity": "emerg", "version": 1, "message": ""}, None),
    (
        "<34>Dec 31 22:14:15 mymachine su[12]: 'su root' failed",
        {
            "facility": "auth",
            "severity": "crit",
            "timestamp": "2025-12-31T22:14:15+00:00",
            "hostname": "mymachine",
            "appname": "su",
            "procid": "12",
            "message": "'su root' failed",
        },
        "2025-12-31T22:14:15+00:00",
    ),
    (
        "<13>Jan  1 00:29:00 root: local",
        {"facility": "user", "severity": "notice", "timestamp": "2026-01-01T00:29:00+00:00", "appname": "root", "message": "local"},
        "2026-01-01T00:29:00+00:00",
    ),
    (
        "2026-01-02T03:04:05.678+01:00 web CRON[7]: (root) CMD",
        {
            "timestamp": "2026-01-02T03:04:05.678000+01:00",
            "hostname": "web",
            "appname": "CRON",
            "procid": "7",
            "message": "(root) CMD",
        },
        "2026-01-02T02:04:05.678+00:00",
    ),
    (
        "Feb 29 10:00:00 2001:db8::1 kernel: [1.5] x",
        {"timestamp": "2024-02-29T10:00:00+00:00", "hostname": "2001:db8::1", "appname": "kernel", "message": "[1.5] x"},
        "2024-02-29T10:00:00+00:00",
    ),
    (
        "Jan  2 2024 10:00:00 fw : %ASA-6: x",
        {"timestamp": "2024-01-02T10:00:00+00:00", "hostname": "fw", "message": ": %ASA-6: x"},
        "2024-01-02T10:00:00+00:00",
    ),
]


@pytest.mark.parametrize(("text", "fields", "moment"), SYSLOG)
def test_messages_of_syslog_are_read(text: str, fields: dict[str, Any], moment: str | None) -> None:
    now = NOW.replace(year=2024, month=3, day=1) if text.startswith("Feb") else NOW
    found = read_syslog(text, now, strict=moment is not None)
    assert found.fields == fields
    assert found.time_ms == (None if moment is None else int(datetime.fromisoformat(moment).timestamp() * 1000))


def test_times_without_a_zone_are_of_the_one_that_is_configured() -> None:
    now = NOW.astimezone(ZoneInfo("Asia/Shanghai"))
    assert read_syslog("Jan  1 08:00:00 a b: c", now, strict=True).fields["timestamp"] == "2026-01-01T08:00:00+08:00"


@pytest.mark.parametrize(
    "text",
    ["hello", "<13>hello", "<13>1 nonsense", "<13>1 - - - - - [open", "<13>1 - - - - - -x", "<13>Feb 31 10:00:00 a b: c", ""],
)
def test_over_the_network_anything_is_a_message_and_in_a_file_it_is_none(text: str) -> None:
    assert read_syslog(text, NOW, strict=False).fields["message"] == text.removeprefix("<13>")
    with pytest.raises(Unfit, match="begins with no time"):
        read_syslog(text, NOW, strict=True)


def test_a_priority_that_is_none_is_told() -> None:
    with pytest.raises(Unfit, match="its priority is 192, and 191 is the highest"):
        read_syslog("<192>x", NOW, strict=False)
