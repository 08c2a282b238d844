"""Kafka's JsonConverter, in its own Java, as the other side; and the recorder of its messages.

`python -m tests.rocketconnect_sdk.converters.interoperability.kafka_connect` writes kafka_connect_examples.json anew.
"""

import tempfile
from pathlib import Path
from typing import Any

from bench.peers.kafka_jars import KAFKA
from rocketconnect_kit.java.jars import jars_of
from rocketconnect_sdk.converters import Converter, converter
from tests.rocketconnect_sdk.converters.interoperability.connect_data import SENT, sorted_maps
from tests.rocketconnect_sdk.converters.interoperability.connect_peer import Peer, save

RECORDED = Path(__file__).with_name("kafka_connect_examples.json")
_ORIGIN = f"Written and read by Kafka's own JsonConverter ({KAFKA.title}); recorded by kafka_connect.py beside this file."
PACKAGE = "org.apache.kafka.connect.data."
WAYS = [("kafka", "BASE64"), ("kafka", "NUMERIC"), ("rocketmq", "BASE64")]
"""The names and the decimal.format they are written with. A number under a name that Kafka does not know is null to it."""


def kafka_connect(folder: Path) -> Peer:
    """The Java program, compiled into a folder."""
    return Peer.compiled("KafkaConnectPeer", f"{jars_of(KAFKA)}/*", folder)


def json_converter(names: str, decimal_format: str) -> Converter:
    """Ours, with these options."""
    return converter("json", {"names": names, "decimal.format": decimal_format}, is_key=False)


def recorded(kafka: Peer) -> dict[str, list[dict[str, Any]]]:
    """What the file of recorded messages holds."""
    with kafka.running() as reader:
        sent = [
            {"names": names, "decimal.format": number, "message": message.decode(), **sorted_maps(reader.read(number, message))}
            for schema, value in SENT
            for names, number in WAYS
            for message in [json_converter(names, number).encode(value, schema)]
        ]
    return {"written_there": kafka.examples(), "read_there": sent}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as classes:
        save(RECORDED, _ORIGIN, **recorded(kafka_connect(Path(classes))))
