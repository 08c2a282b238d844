"""Writes the pinned lists of jars: resolves the packages of each set with all that they need, and notes each digest.

Run by `make pin-jars` after a change of a version; the results are committed. Names of sets choose among them.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from bench.peers.debezium_jars import DEBEZIUM, DEBEZIUM_VERSION
from bench.peers.kafka_jars import KAFKA, KAFKA_VERSION
from connectors.delta_sink.needs import DELTA, DELTA_VERSION
from connectors.hudi_sink.needs import HUDI, HUDI_VERSION, PARQUET_VERSION
from connectors.iceberg_sink.needs import ICEBERG, ICEBERG_VERSION, POSTGRESQL_VERSION
from rocketconnect_cli.embedded import rocketmq_jars
from rocketconnect_cli.embedded.java_agent import JMX_EXPORTER
from rocketconnect_cli.embedded.java_agent import VERSION as JMX_EXPORTER_VERSION
from rocketconnect_kit.java import ivy, jars
from rocketconnect_kit.java.find import find_java
from rocketconnect_sdk.plugins import kafka as kafka_plugins
from tests.servers import iceberg_rest
from tests.servers.amqp.jars import ACTIVEMQ, ACTIVEMQ_VERSION, ARTEMIS, ARTEMIS_VERSION
from tests.servers.hdfs import HADOOP, HADOOP_VERSION
from tests.servers.kafka import broker
from tests.servers.search.real import ELASTICSEARCH, ELASTICSEARCH_VERSION, OPENSEARCH, OPENSEARCH_VERSION
from tests.servers.solr.real import SOLR
from tests.servers.solr.real import VERSION as SOLR_VERSION


class Pinned(NamedTuple):
    """A list and what it is made of.

    Attributes:
        title: The system and its version, for people.
        listing: The file.
        packages: Those that are resolved, with all that they need.
        groups: Only jars of groups that begin so are listed: Spark has the others, in its own versions. Empty: all are.
        alone: The packages are all there is: what else they need Spark has, or is never used.
    """

    title: str
    listing: Path
    packages: list[str]
    groups: tuple[str, ...] = ()
    alone: bool = False


def _of(jars_of: jars.JarSet, packages: list[str]) -> Pinned:
    return Pinned(jars_of.title, Path(str(jars_of.listing)), packages)


SETS = {
    "delta": Pinned(
        DELTA.title, Path(DELTA.jars), [f"io.delta:delta-spark_4.1_2.13:{DELTA_VERSION}"], ("io.delta", "io.unitycatalog")
    ),
    "iceberg": Pinned(
        ICEBERG.title,
        Path(ICEBERG.jars),
        [f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG_VERSION}", f"org.postgresql:postgresql:{POSTGRESQL_VERSION}"],
        ("org.apache.iceberg", "org.postgresql"),
    ),
    "hudi": Pinned(
        HUDI.title,
        Path(HUDI.jars),
        [
            *(
                f"org.apache.hudi:hudi-{name}:{HUDI_VERSION}"
                for name in ("client-common", "common", "hadoop-common", "io", "java-client")
            ),
            # Of the version of Parquet that Spark has.
            *(f"org.apache.parquet:parquet-{name}:{PARQUET_VERSION}" for name in ("avro", "variant")),
            "com.github.ben-manes.caffeine:caffeine:2.9.3",
            "org.openjdk.jol:jol-core:0.16",
        ],
        alone=True,
    ),
    "iceberg-rest": Pinned(
        iceberg_rest.SERVER.title,
        Path(str(iceberg_rest.SERVER.listing)),
        [
            *(f"org.apache.iceberg:iceberg-{name}:{iceberg_rest.VERSION}" for name in ("api", "bundled-guava", "common", "core")),
            f"org.apache.iceberg:iceberg-core:{iceberg_rest.VERSION}:tests",
            "com.github.ben-manes.caffeine:caffeine:2.9.3",
            "org.apache.httpcomponents.client5:httpclient5:5.5",
            *(f"org.apache.httpcomponents.core5:{name}:5.3.4" for name in ("httpcore5", "httpcore5-h2")),
            "org.xerial:sqlite-jdbc:3.50.3.0",
        ],
        alone=True,
    ),
    "rocketmq": _of(
        rocketmq_jars.ROCKETMQ,
        [
            f"org.apache.rocketmq:{name}:{rocketmq_jars.ROCKETMQ_VERSION}"
            for name in ("rocketmq-namesrv", "rocketmq-proxy", "rocketmq-tools")
        ],
    ),
    "jmx-exporter": Pinned(
        JMX_EXPORTER.title,
        Path(str(JMX_EXPORTER.listing)),
        [f"io.prometheus.jmx:jmx_prometheus_javaagent:{JMX_EXPORTER_VERSION}"],
        alone=True,
    ),
    "kafka": _of(
        KAFKA,
        [f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in ("kafka_2.13", "connect-runtime", "connect-file")]
        + ["org.slf4j:slf4j-simple:1.7.36"],
    ),
    "kafka-connect": Pinned(
        f"Kafka Connect {kafka_plugins.VERSION}",
        Path(f"connectors/kafka_connect/{kafka_plugins.LIBRARY}.jars"),
        [
            # What Kafka's own loader of plugins, its converters and its transformations need, and nothing of its runtime else.
            *(f"org.apache.kafka:{name}:{kafka_plugins.VERSION}" for name in ("kafka-clients", "connect-api", "connect-json")),
            *(f"org.apache.kafka:{name}:{kafka_plugins.VERSION}" for name in ("connect-transforms", "connect-runtime")),
            "com.fasterxml.jackson.core:jackson-annotations:2.21",
            *(f"com.fasterxml.jackson.core:jackson-{name}:2.21.2" for name in ("core", "databind")),
            "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.2",
            "com.fasterxml.jackson.module:jackson-module-blackbird:2.21.2",
            *(f"org.slf4j:slf4j-{name}:1.7.36" for name in ("api", "simple")),
        ],
        alone=True,
    ),
    "rocketmq-connect": Pinned(
        f"RocketMQ Connect's API {kafka_plugins.ROCKETMQ_VERSION}",
        Path(f"connectors/rocketmq_connect/{kafka_plugins.ROCKETMQ_LIBRARY}.jars"),
        [
            f"io.openmessaging:openmessaging-connector:{kafka_plugins.ROCKETMQ_VERSION}",
            "io.openmessaging:openmessaging-api:0.3.1-alpha",
            *(f"org.slf4j:slf4j-{name}:1.7.36" for name in ("api", "simple")),
        ],
        alone=True,
    ),
    "kafka-server": _of(broker.KAFKA, [f"org.apache.kafka:kafka_2.13:{broker.KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36"]),
    "debezium": _of(
        DEBEZIUM,
        [
            f"io.debezium:{name}:{DEBEZIUM_VERSION}"
            for name in ("debezium-api", "debezium-embedded", "debezium-connector-mariadb", "debezium-connector-postgres")
        ]
        + ["org.slf4j:slf4j-simple:1.7.36"],
    ),
    "opensearch": _of(
        OPENSEARCH,
        [f"org.opensearch:{name}:{OPENSEARCH_VERSION}" for name in ("opensearch", "opensearch-ssl-config")]
        + [
            f"org.opensearch.plugin:{name}:{OPENSEARCH_VERSION}"
            for name in ("transport-netty4-client", "analysis-common", "reindex-client", "mapper-extras-client")
        ]
        + ["org.apache.logging.log4j:log4j-core:2.25.5"],
    ),
    "elasticsearch": _of(
        ELASTICSEARCH,
        [
            f"org.elasticsearch:elasticsearch:{ELASTICSEARCH_VERSION}",
            f"org.elasticsearch.plugin:transport-netty4:{ELASTICSEARCH_VERSION}",
        ],
    ),
    "solr": _of(SOLR, [f"org.apache.solr:solr-core:{SOLR_VERSION}"]),
    "artemis": _of(
        ARTEMIS,
        [f"org.apache.artemis:artemis-{name}:{ARTEMIS_VERSION}" for name in ("server", "amqp-protocol", "jakarta-server")]
        # Its own names an API of other packages.
        + ["jakarta.jms:jakarta.jms-api:3.1.0", "org.slf4j:slf4j-simple:2.0.17"],
    ),
    "activemq": Pinned(
        ACTIVEMQ.title,
        Path(str(ACTIVEMQ.listing)),
        [
            *(
                f"org.apache.activemq:activemq-{name}:{ACTIVEMQ_VERSION}"
                for name in ("broker", "client", "amqp", "jaas", "kahadb-store", "openwire-legacy")
            ),
            "org.apache.activemq.protobuf:activemq-protobuf:1.1",
            "org.apache.qpid:proton-j:0.35.0",
            "org.fusesource.hawtbuf:hawtbuf:1.11",
            "jakarta.annotation:jakarta.annotation-api:3.0.0",
            "jakarta.jms:jakarta.jms-api:3.1.0",
            *(f"org.slf4j:slf4j-{name}:2.0.17" for name in ("api", "simple")),
        ],
        alone=True,
    ),
    "hadoop": _of(
        HADOOP, [f"org.apache.hadoop:{name}:{HADOOP_VERSION}" for name in ("hadoop-common", "hadoop-hdfs", "hadoop-hdfs-client")]
    ),
}


def main() -> None:
    """Resolve, then replace the lists."""
    for name in sys.argv[1:] or SETS:
        wanted = SETS[name]
        wanted.listing.write_text(_pinned(wanted), encoding="utf-8")
        sys.stderr.write(f"\n{wanted.listing}\n")


def _pinned(wanted: Pinned) -> str:
    if wanted.alone:
        module = ivy.pinned_module(ivy.Coordinates(*package.split(":")) for package in wanted.packages)
    else:
        named = (package.split(":") for package in wanted.packages)
        module = ivy.module([f'<dependency org="{org}" name="{name}" rev="{rev}" conf="*->default"/>' for org, name, rev in named])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ivy.resolve(module, ivy.settings(None, with_poms=True), work, java=find_java(), on_jar=_show)
        lines = sorted(
            f"{jar} {jars.sha256(file)}" for jar, file in _resolved(work / "cache") if jar.group.startswith(wanted.groups or "")
        )
    more = ", but for what Spark has" if wanted.groups else ", and nothing else" if wanted.alone else ""
    names = ", ".join(dict.fromkeys(package.split(":")[1] for package in wanted.packages))
    head = (
        f"# {wanted.title}: every jar of {names}{more},\n"
        "# as group:name:version[:classifier] and SHA-256. Generated by `make pin-jars`.\n"
    )
    return head + "\n".join(lines) + "\n"


def _show() -> None:
    sys.stderr.write(".")
    sys.stderr.flush()


def _resolved(cache: Path) -> list[tuple[ivy.Coordinates, Path]]:
    (report,) = cache.glob("*-default.xml")
    found = []
    for module in ElementTree.parse(report).iter("module"):  # noqa: S314 - written by Ivy a moment ago
        for revision in module.iter("revision"):
            for artifact in revision.iter("artifact"):
                group, name, version = module.attrib["organisation"], artifact.attrib["name"], revision.attrib["name"]
                jar = ivy.Coordinates(group, name, version, artifact.get("extra-1.m.classifier", ""))
                found.append((jar, Path(artifact.attrib["location"])))
    return found


if __name__ == "__main__":
    main()
