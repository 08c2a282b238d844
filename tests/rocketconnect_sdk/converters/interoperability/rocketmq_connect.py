"""RocketMQ Connect's converters, in their own Java, as the other side: the recorder of their messages.

`python -m tests.rocketconnect_sdk.converters.interoperability.rocketmq_connect CHECKOUT`
writes rocketmq_connect_examples.json anew. Its runtime is in no Maven repository, so CHECKOUT is one of
github.com/apache/rocketmq-connect at commit 85da68c, and its converters are compiled.
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.peers.kafka_jars import KAFKA
from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_kit.java import ivy
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.java.jars import jars_of
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.schema import Schema, Type
from tests.rocketconnect_sdk.converters.interoperability.connect_data import SENT, sorted_maps
from tests.rocketconnect_sdk.converters.interoperability.connect_peer import Peer, save

RECORDED = Path(__file__).with_name("rocketmq_connect_examples.json")
PACKAGE = "io.openmessaging.connector.api.data.logical."
_ORIGIN = (
    "Written and read by RocketMQ Connect's own converters (apache/rocketmq-connect at commit 85da68c, fastjson 1.2.83, "
    "openmessaging-connector 0.1.4); recorded by rocketmq_connect.py beside this file. Messages as hexadecimal digits."
)
_API = [
    ivy.Coordinates("io.openmessaging", "openmessaging-connector", "0.1.4"),
    ivy.Coordinates("io.openmessaging", "openmessaging-api", "0.3.1-alpha"),
]
_OPTIONS: Mapping[str, Mapping[str, str]] = {"numeric": {"decimal.format": "NUMERIC"}, "plain": {"schemas.enable": "false"}}
REFUSED_THERE = {"json": {Type.FLOAT32}, "numeric": {Type.FLOAT32, Type.UINT64}}
"""What its own JsonConverter cannot read, not even when it wrote it: a float, and a decimal that is a number without a point."""


def _readable(name: str) -> list[tuple[str, Schema, Any]]:
    """All that is sent, with the struct once more without what is refused."""
    row, value = SENT[-1]
    fields = tuple(field for field in row.fields if field.schema.type not in REFUSED_THERE[name])
    rest = (replace(row, fields=fields), {field.name: value[field.name] for field in fields})
    return [(name, schema, value) for schema, value in (*SENT, rest)]


WRITTEN_HERE: list[tuple[str, Schema | None, Any]] = [
    ("string", None, "Grüße\n😀"),
    ("string", None, 42),
    ("bytes", None, b"\x00\xff"),
    ("short", None, -2),
    ("integer", None, 1 << 30),
    ("long", None, -(1 << 63)),
    ("float", None, 1.5),
    ("double", None, 0.1),
    ("json", None, {"a": [1, None, 2.5]}),
    ("plain", None, {"a": [1, None, 2.5]}),
    *_readable("json"),
    *_readable("numeric"),
]
"""(name, schema, value); the name as in the Java program."""


def here(name: str) -> Converter:
    """The converter here that a name of the Java program stands for."""
    return converter("json" if name in _OPTIONS else name, _OPTIONS.get(name, {}), is_key=False)


def _recorded(peer: Peer) -> dict[str, list[dict[str, Any]]]:
    with peer.running() as reader:
        read = [
            {"converter": name, "message": message.hex(), **sorted_maps(reader.read(name, message))}
            for name, schema, value in WRITTEN_HERE
            for message in [here(name).encode(value, schema)]
        ]
    return {"written_there": peer.examples(), "read_there": read}


def _peer(checkout: Path, folder: Path) -> Peer:
    sources = checkout / "rocketmq-connect-runtime" / "src" / "main" / "java"
    jars = ivy.download(_API, folder / "api", java=find_java(), on_jar=lambda: None)
    others = [jar for names in ("fastjson-1*", "slf4j-api-2*", "commons-lang3*") for jar in rocketmq_jars().glob(names)]
    class_path = [f"{jars}/*", *map(str, others), *map(str, jars_of(KAFKA).glob("jackson-*.jar"))]
    return Peer.compiled("RocketMQConnectPeer", ":".join(class_path), folder, sources=sources)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        save(RECORDED, _ORIGIN, **_recorded(_peer(Path(sys.argv[1]), Path(work))))
