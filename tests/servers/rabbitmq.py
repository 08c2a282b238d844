"""RabbitMQ (Debian: apt-get install rabbitmq-server)."""

import base64
import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pika

from tests import free_ports
from tests.server_process import Server, ServerFailed, takes_connections

_PROGRAMS = Path("/usr/lib/rabbitmq/bin")
MOST_BYTES = 1_000_000
"""So large a message may be."""
READER = "reader"
"""A user whose password is "right", and who has no right but to read queues whose names begin with may."""


class Rabbitmq(Server):
    """A server, with TLS, too, that keeps its data when it is killed."""

    title = "RabbitMQ"
    prefix = "rocketconnect-rabbit-"

    def __init__(self) -> None:
        super().__init__()
        self.port, self.tls_port = free_ports.choose(), free_ports.choose()
        self._others = {"ERL_EPMD_PORT": free_ports.choose(), "RABBITMQ_DIST_PORT": free_ports.choose()}
        self._names: subprocess.Popen[bytes] | None = None
        self.root = "root"

    @property
    def url(self) -> str:
        """Of the server."""
        return f"amqp://localhost:{self.port}"

    @property
    def tls_url(self) -> str:
        """The same with TLS. It wants a certificate of the client, which is `certificate`."""
        return f"amqps://localhost:{self.tls_port}"

    @property
    def authority(self) -> str:
        """Who vouches for the certificate."""
        return str(self.folder / "ca.pem")

    @property
    def certificate(self) -> tuple[str, str]:
        """A certificate for both sides, and its key."""
        return str(self.folder / "both.pem"), str(self.folder / "both.key")

    def command(self) -> Sequence[str]:
        """See Server."""
        if not (_PROGRAMS / "rabbitmq-server").exists():
            msg = "rabbitmq-server and setpriv are needed (Debian: apt-get install rabbitmq-server util-linux)"
            raise ServerFailed(msg)
        self._write_files()
        words = [f"{name}={value}" for name, value in self._environment.items()]
        return ["setpriv", "--pdeathsig", "KILL", "env", *words, "bash", str(_PROGRAMS / "rabbitmq-server")]

    def start(self) -> None:
        """See Server. The program that knows the names of nodes would otherwise be started, and stay."""
        names = ["epmd", "-address", "127.0.0.1", "-port", str(self._others["ERL_EPMD_PORT"])]
        self._names = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *names], start_new_session=True)
        super().start()

    def kill(self) -> None:
        """See Server."""
        super().kill()
        if self._names is not None:
            self._names.kill()
            self._names.wait()

    def answers(self) -> bool:
        """See Server."""
        try:
            if not takes_connections(self.port):
                return False
            with self.channel():
                return True
        except (pika.exceptions.AMQPError, OSError):
            return False

    @contextmanager
    def channel(self) -> Iterator[Any]:
        """An independent client that is connected."""
        with pika.BlockingConnection(pika.ConnectionParameters("localhost", self.port)) as connection:
            yield connection.channel()

    def begin(self, name: str) -> None:
        """What follows is of another test, which names all that it makes after `root`."""
        self.root = name

    def make(self, queue: str, **of: Any) -> str:
        """A durable queue, and its name."""
        with self.channel() as channel:
            channel.queue_declare(queue, durable=True, **of)
        return queue

    def publish(self, queue: str, bodies: Sequence[bytes | str], exchange: str = "", **of: Any) -> None:
        """Returns when the server has all."""
        with self.channel() as channel:
            channel.confirm_delivery()
            for body in bodies:
                channel.basic_publish(exchange, queue, body, pika.BasicProperties(delivery_mode=2, **of))

    def read(self, queue: str) -> list[tuple[Any, Any, bytes]]:
        """All messages that are ready, in their order, which stay there."""
        with self.channel() as channel:
            left = channel.queue_declare(queue, passive=True).method.message_count
            return list(islice(channel.consume(queue), left)) if left else []

    def waiting(self, queue: str) -> int:
        """How many messages are ready."""
        with self.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).method.message_count)

    def cut(self) -> None:
        """Ends all connections."""
        self.control("close_all_connections", "for a test")

    def control(self, *words: str) -> None:
        """Runs rabbitmqctl."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **self._environment}
        subprocess.run(["bash", str(_PROGRAMS / "rabbitmqctl"), *words], check=True, capture_output=True, env=environment)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {
            **{name: str(port) for name, port in self._others.items()},
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"{self.folder.name}@localhost",
            # So what runs it is the server itself, and not a script that waits for it.
            "RUNNING_UNDER_SYSTEMD": "1",
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_LOG_BASE": str(self.folder),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            # With one thread it does not take the processors of the tests beside it.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        }

    def _write_files(self) -> None:
        certificate, key = self.certificate
        if not Path(certificate).exists():
            self._make_certificates()
        (self.folder / "plugins").write_text("[].")
        (self.folder / "definitions.json").write_text(json.dumps(_DEFINITIONS))
        lines = (
            f"listeners.tcp.1 = 127.0.0.1:{self.port}",
            f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}",
            f"ssl_options.cacertfile = {self.authority}",
            f"ssl_options.certfile = {certificate}",
            f"ssl_options.keyfile = {key}",
            "ssl_options.verify = verify_peer",
            "ssl_options.fail_if_no_peer_cert = true",
            f"load_definitions = {self.folder}/definitions.json",
            f"max_message_size = {MOST_BYTES}",
            "log.console.level = error",
        )
        (self.folder / "rabbitmq.conf").write_text("".join(f"{line}\n" for line in lines))

    def _make_certificates(self) -> None:
        """One of an authority, since Erlang trusts none that vouches for itself."""
        key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
        for words in (
            f"req -x509 {key} -days 2 -keyout ca.key -out ca.pem",
            f"req {key} -keyout both.key -out both.csr",
            "x509 -req -in both.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out both.pem",
        ):
            (self.folder / "names").write_text("subjectAltName=DNS:localhost")
            subprocess.run(["openssl", *words.split()], check=True, capture_output=True, cwd=self.folder)


def _user(name: str, password: str, *tags: str) -> dict[str, Any]:
    salted = b"salt" + hashlib.sha256(b"salt" + password.encode()).digest()
    hashed = {"password_hash": base64.b64encode(salted).decode(), "hashing_algorithm": "rabbit_password_hashing_sha256"}
    return {"name": name, **hashed, "tags": list(tags)}


def _rights(user: str, configure: str, write: str, read: str) -> dict[str, str]:
    return {"user": user, "vhost": "/", "configure": configure, "write": write, "read": read}


_DEFINITIONS = {
    "vhosts": [{"name": "/"}, {"name": "closed"}],
    "users": [_user("guest", "guest", "administrator"), _user(READER, "right")],
    "permissions": [_rights("guest", ".*", ".*", ".*"), _rights(READER, "^$", "^$", "^may")],
}
