"""Debezium's jars: its engine, which runs without Kafka, and its connectors for MariaDB and PostgreSQL."""

from importlib.resources import files

from rocketconnect_kit.java.jars import JarSet

DEBEZIUM_VERSION = "3.5.0.Final"
DEBEZIUM = JarSet(
    f"Debezium {DEBEZIUM_VERSION}",
    files(__package__) / f"debezium-{DEBEZIUM_VERSION}.jars",
    "45 MB",
    "ROCKETCONNECT_DEBEZIUM_JARS",
    ("debezium-embedded-*.jar", "debezium-connector-mariadb-*.jar", "debezium-connector-postgres-*.jar"),
)
