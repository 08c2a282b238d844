"""Real brokers out of the jars of Maven: Artemis and ActiveMQ Classic."""

import subprocess
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import httpx
from proton import UNDESCRIBED, Array, Data, Message, symbol
from proton.reactor import LinkOption
from proton.utils import BlockingConnection

from rocketconnect_kit.java.jars import JarSet, jars_of
from tests import free_ports
from tests.server_process import JavaServer
from tests.servers.amqp.jars import ACTIVEMQ, ARTEMIS

_HERE = Path(__file__).parent
READER = "reader"
"""A user of Artemis whose password is "right", and who has no right at all."""
_PASSWORD = "secret"


class OfKind(LinkOption):  # type: ignore[misc]  # it may not be there when types are looked at
    """Says what an address is."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def apply(self, link: Any) -> None:
        """See LinkOption."""
        end = link.target if link.is_sender else link.source
        undescribed: Any = UNDESCRIBED
        end.capabilities.put_object(Array(undescribed, Data.SYMBOL, symbol(self._kind)))


class Broker(JavaServer):
    """A broker that keeps its data when it is killed.

    Class attributes:
        jars: What it is made of.
        topic: What it wants before the name of a topic in an address.
    """

    prefix = "rocketconnect-amqp-"
    jars: ClassVar[JarSet]
    topic: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.port, self._control = free_ports.choose(), free_ports.choose()
        self.root = "root"
        self._numbers = count()

    @property
    def url(self) -> str:
        """Of the broker."""
        return f"amqp://localhost:{self.port}"

    def words(self) -> Sequence[str]:
        """What its class is told."""
        return [str(self.folder), str(self.port), str(self._control)]

    def command(self) -> Sequence[str]:
        """See Server. Javac finds the class that both need beside its own."""
        words = self.words()
        flags = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        return self.java(f"{jars_of(self.jars)}/*:{_HERE}", flags, [self.source.stem, *words])

    def answers(self) -> bool:
        """See Server."""
        try:
            return self.ask("ready") == "ready"
        except httpx.HTTPError:
            return False

    def ask(self, what: str, **of: object) -> str:
        """What its control answers."""
        found = httpx.get(
            f"http://127.0.0.1:{self._control}/{what}", params={name: str(each) for name, each in of.items()}, timeout=60
        )
        assert found.is_success, found.text
        return found.text

    def begin(self, name: str) -> None:
        """What follows is of another test."""
        self.root = f"{name.translate({ord(each): '-' for each in '[]:'})[:60]}-{next(self._numbers)}"

    def name(self) -> str:
        """Of a queue or topic of this test that nobody has used."""
        return f"{self.root}-{next(self._numbers)}"

    def publish(self, address: str, bodies: Sequence[Any], kind: str = "queue", **of: object) -> None:
        """Returns when the broker has accepted all."""
        connection = BlockingConnection(self.url, timeout=60, allowed_mechs="ANONYMOUS")
        try:
            sender = connection.create_sender(self.place(address, kind), options=OfKind(kind))
            for body in bodies:
                message = Message(body, durable=True, **of)
                message.inferred = isinstance(body, bytes)
                sender.send(message)
        finally:
            connection.close()

    def texts(self, queue: str) -> list[str]:
        """The bodies of all messages of a queue, in their order, which stay there: what its own client of JMS sees."""
        found = self.ask("browse", name=queue).split("\n")
        return [each.partition(" ")[2] for each in found if each]

    def place(self, name: str, kind: str) -> str:
        """The address of a queue or topic."""
        return f"{self.topic}{name}" if kind == "topic" else name

    def waiting(self, queue: str) -> int:
        """How many messages a queue has."""
        return int(self.ask("count", queue=queue))

    def subscriptions(self, name: str) -> list[str]:
        """The durable subscriptions whose names have this."""
        return [each for each in self.ask("subscriptions").split("\n") if name in each]

    def cut(self) -> None:
        """Ends all connections."""
        self.ask("cut")


class Artemis(Broker):
    """Artemis."""

    title = "Artemis"
    jars = ARTEMIS
    source = _HERE / "ArtemisBroker.java"

    def __init__(self) -> None:
        super().__init__()
        self.tls_port = free_ports.choose()

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

    def words(self) -> Sequence[str]:
        """See Broker."""
        if not Path(self.authority).exists():
            self._make_certificates()
        tls = f"sslEnabled=true&needClientAuth=true&keyStorePath={self.folder}/both.p12&keyStorePassword={_PASSWORD}"
        tls += f"&keyStoreType=PKCS12&trustStorePath={self.folder}/ca.p12&trustStorePassword={_PASSWORD}&trustStoreType=PKCS12"
        return [str(self.folder), str(self.port), str(self.tls_port), str(self._control), tls]

    def _make_certificates(self) -> None:
        key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
        (self.folder / "names").write_text("subjectAltName=DNS:localhost")
        for words in (
            f"openssl req -x509 {key} -days 2 -keyout ca.key -out ca.pem",
            f"openssl req {key} -keyout both.key -out both.csr",
            "openssl x509 -req -in both.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out both.pem",
            f"openssl pkcs12 -export -in both.pem -inkey both.key -out both.p12 -passout pass:{_PASSWORD}",
            f"keytool -importcert -noprompt -alias ca -file ca.pem -keystore ca.p12 -storetype PKCS12 -storepass {_PASSWORD}",
        ):
            subprocess.run(words.split(), check=True, capture_output=True, cwd=self.folder)


class Classic(Broker):
    """ActiveMQ Classic."""

    title = "ActiveMQ Classic"
    jars = ACTIVEMQ
    source = _HERE / "ClassicBroker.java"
    topic = "topic://"
