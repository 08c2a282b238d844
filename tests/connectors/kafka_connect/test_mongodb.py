"""MongoDB's sink for Kafka Connect, in Java, against a server that speaks MongoDB's protocol."""

from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.kafka_plugins.installing import install
from tests.servers.mongodb.ferretdb import FerretDb

pytestmark = pytest.mark.slow
SINK = "com.mongodb.kafka.connect.MongoSinkConnector"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kafka") / "plugins"
    install("org.mongodb.kafka:mongo-kafka-connect:2.0.1", folder)
    return folder


def test_documents_are_written_by_their_id_and_again_in_the_place_of_what_is_there(
    do: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FerretDb().running() as server:
        monkeypatch.setenv("SHOP_URI", server.url)
        shop = server.new_database()
        config = {
            "connector.class": SINK,
            "topics": "orders",
            "connection.uri": "${env:SHOP_URI}",
            "database": shop.name,
            "collection": "orders",
            "document.id.strategy": "com.mongodb.kafka.connect.sink.processor.id.strategy.ProvidedInValueStrategy",
            "writemodel.strategy": "com.mongodb.kafka.connect.sink.writemodel.strategy.ReplaceOneDefaultStrategy",
        }
        assert do(do="check", config=config)[0] == []
        problems, _ = do(do="check", config={**config, "max.batch.size": "many"})
        assert {problem["key"] for problem in problems} == {"max.batch.size"}
        batches = [
            ["orders/broker/0", 0, ['{"_id": 1, "name": "ä"}', '{"_id": 2, "name": "b"}']],
            # What comes again after a crash replaces what is there.
            ["orders/broker/0", 1, ['{"_id": 2, "name": "again"}']],
        ]
        said, _, durable = do(do="sink", config=config, batches=batches)
        assert (said, durable) == (["", ""], {"orders/broker/0": 2})
        assert {each["_id"]: each["name"] for each in shop.orders.find()} == {1: "ä", 2: "again"}
