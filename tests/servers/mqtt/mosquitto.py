"""Mosquitto (Debian: apt-get install mosquitto)."""

import re
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from rocketconnect_sdk.queues import identity
from tests import free_ports
from tests.server_process import Server, ServerFailed

_PROGRAM = "/usr/sbin/mosquitto"
_SESSIONS = 3
_KEPT = ("persistence true", "persistence_location ./", "autosave_on_changes true", "autosave_interval 1")


class Mosquitto(Server):
    """A broker.

    Args:
        given: More lines of its configuration; anybody may come in unless they say who.
        scheme: Of its URL.
        keeps: It keeps sessions and messages when it is killed, and is slow.
    """

    title = "Mosquitto"
    prefix = "rocketconnect-mqtt-"

    def __init__(self, given: Sequence[str] = ("allow_anonymous true",), scheme: str = "mqtt", *, keeps: bool = False) -> None:
        super().__init__()
        self.port = free_ports.choose()
        self._given = given
        self._scheme = scheme
        self._keeps = keeps
        self.root = "root"

    @property
    def url(self) -> str:
        """Of the broker."""
        return f"{self._scheme}://localhost:{self.port}"

    def command(self) -> Sequence[str]:
        """See Server."""
        setpriv = shutil.which("setpriv")
        if setpriv is None or not Path(_PROGRAM).exists():
            msg = "mosquitto and setpriv are needed (Debian: apt-get install mosquitto util-linux)"
            raise ServerFailed(msg)
        lines = (
            f"listener {self.port} localhost",
            "user root",
            *(_KEPT if self._keeps else ()),
            "max_queued_messages 100000",
            "max_inflight_messages 0",
            *self._given,
        )
        (self.folder / "mosquitto.conf").write_text("".join(f"{line}\n" for line in lines))
        return [setpriv, "--pdeathsig", "KILL", _PROGRAM, "-c", str(self.folder / "mosquitto.conf")]

    def answers(self) -> bool:
        """See Server."""
        try:
            socket.create_connection(("localhost", self.port), 1).close()
        except OSError:
            return False
        return True

    @contextmanager
    def client(self, name: str = "", **of: Any) -> Iterator[paho.Client]:
        """An independent client, of version 5, that is connected."""
        client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
        there = Event()
        client.on_connect = lambda *_: there.set()
        client.connect("localhost", self.port, **of)
        client.loop_start()
        try:
            assert there.wait(30), f"the broker at {self.port} does not take a client"
            yield client
        finally:
            client.disconnect()
            client.loop_stop()

    def begin(self, name: str) -> None:
        """What follows is of another test."""
        self.root = re.sub(r"\W", "-", name)

    def sessions(self) -> int:
        """How many sessions of the connector "test" there are: a client that asks for one is told whether it was there."""
        return sum(map(self._is_session, range(_SESSIONS)))

    def end_sessions(self) -> None:
        """Ends them."""
        for number in range(_SESSIONS):
            self._asked(identity("test", number), clean=True)

    def cut(self) -> None:
        """Ends the connections of sessions: a client of the same name takes each over, and goes."""
        for number in range(_SESSIONS):
            self._is_session(number)

    def _is_session(self, number: int) -> bool:
        """Asks with a session that stays: one that was not there is ended."""
        code, present = self._asked(identity("test", number), clean=False)
        if code == 0 and not present:
            self._asked(identity("test", number), clean=True)
        return present

    def _asked(self, name: str, *, clean: bool) -> tuple[int, bool]:
        expiry = b"" if clean else bytes([0x11]) + b"\xff\xff\xff\xff"
        head = b"\x00\x04MQTT\x05" + bytes([2 * clean, 0, 10, len(expiry)]) + expiry
        body = head + len(name).to_bytes(2) + name.encode()
        with socket.create_connection(("localhost", self.port), 10) as connection:
            connection.sendall(bytes([0x10, len(body)]) + body)
            answer = connection.recv(4)
            return answer[3], bool(answer[2] & 1)

    def publish(self, topic: str, payloads: Sequence[bytes | str], qos: int = 1, **of: Any) -> None:
        """Returns when the broker has all."""
        with self.client() as client:
            for sent in [client.publish(topic, payload, qos, **of) for payload in payloads]:
                sent.wait_for_publish(30)

    @contextmanager
    def listening(self, name: str, *, whole: bool = False) -> Iterator[list[Any]]:
        """The texts, or the whole messages, that come to a filter."""
        seen: list[Any] = []
        with self.client() as client:
            there = Event()
            client.on_subscribe = lambda *_: there.set()
            client.on_message = lambda _, __, message: seen.append(message if whole else message.payload.decode())
            client.subscribe(name, 2)
            assert there.wait(30)
            yield seen

    def settle(self, topic: str, seen: list[Any]) -> None:
        """Returns when all that was published before is among what was seen."""
        before = len(seen)
        self.publish(topic, ["end"], 2)
        deadline = time.monotonic() + 240
        while not any((each if isinstance(each, str) else each.payload.decode()) == "end" for each in seen[before:]):
            assert time.monotonic() < deadline, "a message does not come"
            time.sleep(0.005)
