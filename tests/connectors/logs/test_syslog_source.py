"""Messages over TCP, TLS, UDP and RELP: of real senders, and of those that send nonsense."""

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.logs.frames import Commands, Frames
from connectors.logs.syslog_source import SyslogSource
from rocketconnect_sdk.conformance.listen import ListenCase, listening
from rocketconnect_sdk.conformance.queue import Driver, QueueCase
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Rejected
from tests import free_ports
from tests.connectors.logs.senders import logger, rsyslog


class Heard:
    """A task that listens.

    Attributes:
        port: Where.
        values: What its topic has.
    """

    def __init__(self, driver: Driver, port: int) -> None:
        self.port = port
        self.values: list[Any] = []
        self._driver = driver
        self._poll = driver.task.poll
        driver.task.poll = self._polled  # type: ignore[method-assign]

    def _polled(self) -> Any:
        batches = batches_of(self._poll())
        self.values += [value for batch in batches for value in batch.values]
        return batches

    def poll(self) -> None:
        """Takes what is there, and stores nothing."""
        self._driver.poll()

    def commit(self) -> None:
        """Stores what was taken."""
        self._driver.commit()

    def read(self, count: int, *, commit: bool = True) -> list[Any]:
        """So many values, each stored."""
        self._driver.read(count, commit=commit)
        return self.values


def case_of(transport: str, port: int, **options: str) -> ListenCase:
    given = {
        "listen": f"127.0.0.1:{port}",
        "transport": transport,
        **{key.replace("_", "."): text for key, text in options.items()},
    }
    return ListenCase(SyslogSource(), given, lambda _: False)


@contextmanager
def hearing(transport: str = "tcp", *, port: int = 0, **options: str) -> Iterator[Heard]:
    """A task that listens until the end of the block."""
    port = port or free_ports.choose()
    with listening(case_of(transport, port, **options)) as driver:
        yield Heard(driver, port)


@pytest.mark.parametrize("transport", ["tcp", pytest.param("udp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["--rfc5424", pytest.param("--rfc3164", marks=pytest.mark.slow)])
def test_what_logger_sends_is_there_with_its_fields(transport: str, form: str) -> None:
    with hearing(transport, key_field="hostname") as heard:
        counted = ["--octet-count"] if form == "--rfc5424" and transport == "tcp" else []
        data = ["--sd-id", "zoo@123", "--sd-param", 'tiger="hungry"'] if form == "--rfc5424" else []
        logger(heard.port, f"--{transport}", form, *counted, *data, "-p", "daemon.err", "-t", "app", "--id=77", "hello ünï")
        (found,) = heard.read(1)
    assert (
        found.items() >= {"facility": "daemon", "severity": "err", "appname": "app", "procid": "77", "message": "hello ünï"}.items()
    )
    assert found["hostname"] == socket.gethostname().partition(".")[0]
    if data:
        assert found["structured_data"]["zoo@123"] == {"tiger": "hungry"}
        assert found["version"] == 1


def test_what_others_send_over_tls_is_there_and_without_it_nothing_is(tmp_path: Path) -> None:
    pem = tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-keyout", pem, "-out", tmp_path / "crt"], check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + (tmp_path / "crt").read_bytes())
    with hearing(ssl_certificate_location=str(pem)) as heard:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "crt"))
        with socket.create_connection(("127.0.0.1", heard.port)) as plain:
            plain.sendall(b"<13>plain\n")
        with (
            socket.create_connection(("127.0.0.1", heard.port)) as raw,
            trusted.wrap_socket(raw, server_hostname="localhost") as secure,
        ):
            secure.sendall(b"9 <13>hello<14>there\n")
            assert [each["message"] for each in heard.read(2)] == ["hello", "there"]


def test_a_client_is_not_read_on_before_what_it_has_sent_is_stored() -> None:
    with hearing(prefetch="1", value_format="text") as heard, socket.create_connection(("127.0.0.1", heard.port)) as client:
        client.sendall(b"one\n")
        heard.read(1, commit=False)
        client.sendall(b"two\n")
        for _ in range(20):
            heard.poll()
        assert heard.values == ["one"]
        heard.commit()
        assert heard.read(2) == ["one", "two"]
        client.sendall(b"last, without a newline")
        client.shutdown(socket.SHUT_WR)
        assert heard.read(3)[2:] == ["last, without a newline"]


def test_messages_that_are_too_long_or_no_text_are_bad_records_and_all_others_are_there() -> None:
    with hearing(message_bytes="480B", value_format="text") as heard, socket.create_connection(("127.0.0.1", heard.port)) as client:
        client.sendall(b"one\n" + b"x" * 5000 + b"\n600 " + b"y" * 600 + b"\xff\xfe\n\n<999>z\n<13>last\n")
        first, line, counted, text, priority, last = heard.read(6)
    assert (first, last) == ("one", "<13>last")
    assert [(each.error, each.length) for each in (line, counted, text, priority)] == [
        ("RecordTooLarge", 5000),
        ("RecordTooLarge", 600),
        ("InvalidText", 2),
        ("InvalidSyslog", 6),
    ]
    with hearing("relp", message_bytes="480B", value_format="text", encoding="latin-1") as heard:
        answers: list[bytes] = []
        with socket.create_connection(("127.0.0.1", heard.port)) as client:
            client.sendall(b"1 open 0\n2 syslog 600 " + b"y" * 600 + b"\n3 syslog 1 \xfc\n4 what 0\n")
            long, text = heard.read(2)
            while b"no such command" not in b"".join(answers):
                answers.append(client.recv(1000))
    assert (long.error, text) == ("RecordTooLarge", "ü")
    assert [line for line in b"".join(answers).splitlines() if b" rsp " in line] == [
        b"1 rsp 65 200 OK",
        *(b"2 rsp 6 200 OK", b"3 rsp 6 200 OK", b"4 rsp 19 500 no such command"),
    ]


def test_who_speaks_something_else_is_cut_off_alone() -> None:
    with hearing("relp", value_format="text") as heard:
        with socket.create_connection(("127.0.0.1", heard.port), timeout=60) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert client.recv(1) == b""
        with socket.create_connection(("127.0.0.1", heard.port), timeout=60) as client:
            client.sendall(b"1 syslog 1 xy")
            assert client.recv(1) == b""
    with hearing(framing="octet-counting", value_format="text") as heard:
        with socket.create_connection(("127.0.0.1", heard.port), timeout=60) as client:
            client.sendall(b"<13>no count\n")
            assert client.recv(1) == b""
        with socket.create_connection(("127.0.0.1", heard.port)) as client:
            client.sendall(b"3 yes")
            assert heard.read(1) == ["yes"]


def test_datagrams_that_find_no_room_are_lost_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with hearing("udp", prefetch="2", value_format="text") as heard, socket.socket(type=socket.SOCK_DGRAM) as client:
        for text in ("one\n", "two", "three"):
            client.sendto(text.encode(), ("127.0.0.1", heard.port))
        end = time.monotonic() + 60
        while not caplog.messages and time.monotonic() < end:
            time.sleep(0.01)
        assert caplog.messages[-1].startswith("1 datagrams could not be taken since the start, and may be lost")
        assert heard.read(2) == ["one", "two"]
        case = case_of("udp", heard.port)
        with pytest.raises(SystemAway, match="is taken on this machine"):
            Driver(QueueCase(case.source, case.config, lambda _: None), {}).task.start({})


@given(
    st.lists(
        st.binary(min_size=1, max_size=30).filter(lambda text: text.strip(b"\r\n\0") == text and b"\n" not in text), max_size=6
    ),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.integers(1, 20),
)
@example([b"<1>x", b"<2>y" * 5], [True, False] * 3, 1)
def test_messages_are_cut_the_same_wherever_their_bytes_are_split(texts: list[bytes], counted: list[bool], size: int) -> None:
    sent = b""
    for text, is_counted in zip(texts, counted, strict=False):
        # What has no count must not look as if it had one.
        sent += b"%d %b" % (len(text), text) if is_counted or text[:1].isdigit() else text + b"\n"
    frames, commands = Frames(20, "auto"), Commands(20)
    pieces = [sent[begin : begin + size] for begin in range(0, len(sent), size)]
    found = [frame for piece in pieces for frame in frames.feed(piece)] + frames.end()
    assert [frame.length if isinstance(frame, Rejected) else frame for frame in found] == [
        len(text) if len(text) > 20 else text for text in texts
    ]
    spoken = b"".join(b"%d syslog %d %b\n" % (number, len(text), text) for number, text in enumerate(texts, 1))
    told = [each for begin in range(0, len(spoken), size) for each in commands.feed(spoken[begin : begin + size])]
    assert [each.number for each in told] == list(range(1, len(texts) + 1))
    assert [each.data.length if isinstance(each.data, Rejected) else each.data for each in told] == [
        len(text) if len(text) > 20 else text for text in texts
    ]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"transport": "udp", "ssl.certificate.location": "/x.pem"}, "ssl.certificate.location"),
        ({"transport": "relp", "framing": "newline"}, "framing"),
    ],
)
def test_options_that_do_not_go_together_are_told(options: dict[str, str], key: str) -> None:
    source = SyslogSource()
    (problem,) = source.check(parse(source.options, {"listen": "127.0.0.1:5514", **options}))
    assert (problem.key, problem.reason) == (key, f"means nothing with transport={options['transport']}")


_QUEUE = 'queue.type="LinkedList" queue.size="100000" action.resumeRetryCount="-1" action.resumeInterval="1"'


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["relp", "tcp", "tcp-counted", "udp"])
def test_all_that_rsyslog_forwards_is_there_and_over_relp_though_the_task_is_replaced(tmp_path: Path, transport: str) -> None:
    port = free_ports.choose()
    kind = {"relp": 'type="omrelp"', "udp": 'type="omfwd" protocol="udp"'}.get(transport, 'type="omfwd" protocol="tcp"')
    framing = 'tcp_Framing="octet-counted"' if transport == "tcp-counted" else ""
    load = 'module(load="omrelp")\n' if transport == "relp" else ""
    name = 'template="RSYSLOG_SyslogProtocol23Format"'
    rules = f'{load}action({kind} target="127.0.0.1" port="{port}" {framing} {name} {_QUEUE})'
    texts = [f"message {number} ünï" for number in range(2_000)]
    stored: set[str] = set()
    with rsyslog(tmp_path / "rsyslog", rules) as path:
        while not path.exists():
            time.sleep(0.05)

        def send(some: list[str]) -> None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
                log.connect(os.fspath(path))
                for text in some:
                    log.send(f"<14>Jan  1 10:00:00 app[7]: {text}".encode())

        parts = 4 if transport == "relp" else 1
        for part in range(parts):
            with hearing(transport.partition("-")[0], port=port) as heard:
                send(texts[part::parts])
                wanted = len(texts) if part == parts - 1 else 100 * (part + 1)
                end = time.monotonic() + 60
                while len({*stored, *_messages(heard)}) < wanted:
                    assert time.monotonic() < end, f"{len({*stored, *_messages(heard)})} of {wanted} came"
                    heard.commit()
                    known = len(heard.values)
                    heard.poll()
                # The task is replaced: what it has taken last and not stored comes again.
                stored |= set(_messages(heard)[: known if part < parts - 1 else None])
    assert stored == set(texts)


def _messages(heard: Heard) -> list[str]:
    return [value["message"].lstrip() for value in heard.values]
