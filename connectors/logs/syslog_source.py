"""Messages of syslog that others send: RFC 5424 and RFC 3164 over TCP, TLS, UDP and RELP."""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from connectors.file_source.encodings import ENCODINGS, UTF8
from connectors.logs.frames import AUTO, FRAMINGS
from connectors.logs.receiving import Packets, Reading, Relp, Streams
from rocketconnect_sdk.configuration.zones import FIX, zone_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.listeners import LISTEN, Datagrams, ListenSource, Protocol, tls_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks

_TCP, _UDP, _RELP = "tcp", "udp", "relp"


class SyslogSource(ListenSource):
    """Listens for messages of syslog (RFC 5424, RFC 3164) over TCP, TLS, UDP or RELP, such as those of rsyslog."""

    name = "syslog_source"
    options = (
        Option(
            "transport",
            "tcp: a client is read on when the topic has what came before; what is in the buffers of the network when a process "
            "dies is lost. relp: each message is answered when it is stored, and none is lost. udp: what finds no room is lost.",
            default=_TCP,
            choices=(_TCP, _UDP, _RELP),
        ),
        *LISTEN,
        Option(
            "framing",
            "Where a message ends over TCP (RFC 6587). octet-counting: its length stands before it. newline: a newline stands "
            "behind it. auto: as each message begins, with a number or not.",
            default=AUTO,
            choices=FRAMINGS,
        ),
        Option("message.bytes", "A longer message is a bad record.", Kind.SIZE, "64KiB", minimum=480, maximum=64 << 20),
        Option(
            "value.format",
            "fields: facility, severity, timestamp, hostname, appname, procid, msgid, structured_data, message. text: the "
            "message as it came.",
            default="fields",
            choices=("fields", "text"),
        ),
        Option("key.field", "The field that becomes the key of the record: hostname. Empty: there is none.", default=""),
        Option("time.zone", "That of times that say none.", default="UTC", check=zone_problem, fix=FIX),
        Option("encoding", "How messages write characters.", default=UTF8, choices=ENCODINGS),
        Option(
            "encoding.errors",
            "What a message does that is not of the encoding. fail: it is a bad record. replace: each wrong byte becomes U+FFFD.",
            default="fail",
            choices=("fail", "replace"),
        ),
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See ListenSource."""
        return run_checks(config, tls_problems, _transport_problems)

    def protocol(self, config: Config, context: TaskContext) -> Protocol | Datagrams:
        """See ListenSource."""
        reading = Reading(
            ZoneInfo(config["time.zone"]),
            config["encoding"],
            replace=config["encoding.errors"] == "replace",
            fields=config["value.format"] == "fields",
            key=config["key.field"],
        )
        most = min(config["message.bytes"], context.max_record_bytes)
        if config["transport"] == _UDP:
            return Packets(reading, most, context.log)
        return Relp(reading, most) if config["transport"] == _RELP else Streams(reading, most, config["framing"])


def _transport_problems(config: Config) -> Iterable[Problem]:
    transport = config["transport"]
    if transport != _TCP and "framing" in config.raw:
        yield Problem("framing", config.raw["framing"], f"means nothing with transport={transport}", "Remove it.")
    if transport == _UDP:
        for key in ("ssl.certificate.location", "connections.max"):
            if config.raw.get(key):
                yield Problem(key, config.raw[key], "means nothing with transport=udp", "Set transport=tcp or relp, or remove it.")
