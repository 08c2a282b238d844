"""Kafka's jars, with Kafka Connect and its file connectors."""

from importlib.resources import files

from rocketconnect_kit.java.jars import JarSet

KAFKA_VERSION = "4.1.2"
KAFKA = JarSet(
    f"Kafka {KAFKA_VERSION}",
    files(__package__) / f"kafka-{KAFKA_VERSION}.jars",
    "55 MB",
    "ROCKETCONNECT_KAFKA_JARS",
    ("kafka_2.13-*.jar", "connect-runtime-*.jar", "connect-file-*.jar"),
)
