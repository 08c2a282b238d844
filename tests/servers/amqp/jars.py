"""The jars of the brokers: Artemis and ActiveMQ Classic, with their own clients of JMS."""

from pathlib import Path

from rocketconnect_kit.java.jars import listed

_HERE = Path(__file__).parent
ARTEMIS_VERSION, ACTIVEMQ_VERSION = "2.50.0", "6.3.1"
ARTEMIS = listed(f"Artemis {ARTEMIS_VERSION}", _HERE / f"artemis-{ARTEMIS_VERSION}.jars")
ACTIVEMQ = listed(f"ActiveMQ Classic {ACTIVEMQ_VERSION}", _HERE / f"activemq-{ACTIVEMQ_VERSION}.jars")
