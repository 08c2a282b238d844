"""Kafka out of its jars: one node that is broker and controller, in a Java process of its own."""

import base64
import subprocess
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient, ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

from rocketconnect_kit.java.jars import JarSet, jars_of
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import START_SECONDS, Server

KAFKA_VERSION = "4.3.0"
KAFKA = JarSet(
    f"Kafka {KAFKA_VERSION}",
    Path(__file__).with_name(f"kafka-{KAFKA_VERSION}.jars"),
    "100 MB",
    "ROCKETCONNECT_KAFKA_SERVER_JARS",
    ("kafka_2.13-*.jar", "slf4j-simple-*.jar"),
)
PASSWORD = "of-tests"  # of users that are there for tests alone
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Kafka(Server):
    """A node. Who comes without a password may do everything; the users `plain` and `scram` may do nothing.

    Args:
        certificates: A folder for the server's certificate and its key; None: it has no port with TLS.

    Attributes:
        port: For everybody.
        sasl_port: For users.
        tls_port: For users, with TLS.
        authority: The file of what the certificate comes from.
    """

    title = "Kafka"
    prefix = "rocketconnect-kafka-"

    def __init__(self, certificates: Path | None = None) -> None:
        super().__init__()
        self.port, self.sasl_port, self.tls_port, self._controller = (free_ports.choose() for _ in range(4))
        self._certificates = certificates
        self.authority = "" if certificates is None else str(certificates / "cert.pem")

    @property
    def servers(self) -> str:
        """For clients without a password."""
        return f"127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """See Server. Raises JarsUnavailable: the jars could not be downloaded."""
        java = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", _QUIET, "-cp", f"{jars_of(KAFKA)}/*"]
        settings = self.folder / "server.properties"
        if not settings.exists():
            settings.write_text("\n".join(f"{name}={value}" for name, value in self._settings().items()))
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
            user = f"SCRAM-SHA-256=[name=scram,password={PASSWORD}]"
            # One that begins with "-" would be taken for an option.
            told = ["format", f"--cluster-id={cluster}", "-c", str(settings), "--add-scram", user]
            subprocess.run([*java, "kafka.tools.StorageTool", *told], check=True, capture_output=True, timeout=START_SECONDS)
        return tethered([*java, "kafka.Kafka", str(settings)])

    def _settings(self) -> dict[str, str]:
        ports = {"PLAINTEXT": self.port, "SASL_PLAINTEXT": self.sasl_port}
        more: dict[str, str] = {}
        if self._certificates is not None:
            ports["SASL_SSL"] = self.tls_port
            chain, key = (text.replace("\n", "\\n") for text in _certificate(self._certificates))
            more = {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
        for name in list(ports)[1:]:
            of_name = f"listener.name.{name.lower()}"
            more[f"{of_name}.plain.sasl.jaas.config"] = f'{_LOGIN} required user_plain="{PASSWORD}";'
            more[f"{of_name}.scram-sha-256.sasl.jaas.config"] = f"{_SCRAM} required;"
        open_to = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{open_to},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": open_to,
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{','.join(f'{name}:{name}' for name in ports)}",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "authorizer.class.name": _AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "log.dirs": f"{self.folder}/data",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            **more,
        }

    def answers(self) -> bool:
        """See Server."""
        with suppress(KafkaException):
            return bool(self.admin().list_topics(timeout=2).brokers)
        return False

    def admin(self) -> Any:
        """A client that makes and removes topics. Its methods say no types."""
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def make(self, topic: str, partitions: int = 1, **config: str) -> None:
        """A topic; `_` in the names of its settings stands for a dot."""
        made = NewTopic(topic, partitions, 1, config={name.replace("_", "."): value for name, value in config.items()})
        admin = self.admin()
        admin.create_topics([made])[topic].result(30)

    def drop(self, topic: str) -> None:
        """Removes a topic."""
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(30)

    def grow(self, topic: str, partitions: int) -> None:
        """Gives a topic more partitions."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def trim(self, topic: str, first: int, partition: int = 0) -> None:
        """Removes what is before an offset, as retention does."""
        admin = self.admin()
        for each in admin.delete_records([TopicPartition(topic, partition, first)]).values():
            each.result(30)

    def allow(self, user: str, topic: str, operation: str) -> None:
        """Gives a user a right on a topic."""
        self._allow(user, ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, AclOperation[operation])

    def allow_transactions(self, user: str, prefix: str) -> None:
        """Gives a user the right on transactions whose names begin so."""
        self._allow(user, ResourceType.TRANSACTIONAL_ID, prefix, ResourcePatternType.PREFIXED, AclOperation.WRITE)

    def _allow(self, user: str, kind: ResourceType, name: str, pattern: ResourcePatternType, operation: AclOperation) -> None:
        acl = AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        admin = self.admin()
        admin.create_acls([acl])[acl].result(30)

    def put(self, topic: str, values: Iterable[bytes | None], partition: int = 0, **more: Any) -> None:
        """Writes records."""
        producer = self.producer()
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(60) == 0

    def commit(self, topic: str, values: Iterable[bytes | None], partition: int = 0) -> None:
        """Writes a transaction, and behind it one that is aborted."""
        writer = self.producer(transactional_id=topic)
        writer.init_transactions(60)
        writer.begin_transaction()
        for value in values:
            writer.produce(topic, value, partition=partition)
        writer.commit_transaction(60)
        writer.begin_transaction()
        writer.produce(topic, b"aborted", partition=partition)
        writer.flush(60)
        writer.abort_transaction(60)

    def read(self, topic: str) -> list[Any]:
        """All messages that are committed, partition by partition."""
        settings = {"bootstrap.servers": self.servers, "group.id": "of-tests", "auto.offset.reset": "earliest"}
        reader = Consumer({**settings, "enable.partition.eof": True, "fetch.wait.max.ms": 10})
        parts = sorted(reader.list_topics(topic, timeout=30).topics[topic].partitions)
        reader.assign([TopicPartition(topic, number, 0) for number in parts])
        found: dict[Any, list[Any]] = {number: [] for number in parts}
        ended: set[Any] = set()
        while len(ended) < len(parts):
            for message in reader.consume(1000, 0.05):
                if (error := message.error()) is None:
                    found[message.partition()].append(message)
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended.add(message.partition())
        reader.close()
        return [message for number in parts for message in found[number]]

    def producer(self, **config: str) -> Any:
        """A producer."""
        named = {name.replace("_", "."): value for name, value in config.items()}
        return Producer({"bootstrap.servers": self.servers, "linger.ms": 0, **named})


def _certificate(folder: Path) -> tuple[str, str]:
    """A certificate of its own for 127.0.0.1, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = f"-days 2 -keyout {key} -out {cert} -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(f"openssl req -x509 -newkey rsa:2048 -nodes {made}".split(), check=True, capture_output=True)
    return cert.read_text(), key.read_text()
