"""Documents of FerretDB go into topics and into another database through a real executor, while that is killed."""

import os
import signal
import time
from typing import Any

import bson
import pytest
from bson.int64 import Int64
from bson.objectid import ObjectId

from tests.servers.mongodb.ferretdb import FerretDb
from tests.services.executor.system import System

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def test_a_copy_has_the_documents_of_its_original_though_hosts_and_executors_are_killed(system: System) -> None:
    system.start("worker-1")
    with FerretDb(oplog=True).running() as server:
        there, here = server.new_database(), server.new_database()
        topic = f"mongo-{os.getpid()}-{time.time_ns()}"

        def documents(database: Any) -> list[bytes]:
            return sorted(bson.encode(each) for each in database["orders"].find())

        there["orders"].insert_many([{"_id": number, "n": Int64(number), "ref": ObjectId()} for number in range(40)])
        form = {"value_converter": "json", "value_converter_schemas_enable": "false"}
        read = {"capture_mode": "oplog", "database_include": there.name, "snapshot_chunk_size": "7", "collection_topic": topic}
        system.create("reads", connector_class="mongodb_source", url=server.url, topic=topic, **read, **form)
        write = {"database": here.name, "collection": "orders", "extended_json": "true", "delete_enabled": "true"}
        system.create("writes", connector_class="mongodb_sink", url=server.url, topics=topic, engine="native", **write, **form)
        system.until(lambda: documents(here) == documents(there), 300)
        for number, task in enumerate(("reads/0", "writes/0", "reads/0")):
            for step in range(20):
                there["orders"].update_one({"_id": step}, {"$set": {"n": number * 100 + step}})
                there["orders"].delete_one({"_id": 20 + step + number})
                there["orders"].insert_one({"_id": f"{number}-{step}", "at": bson.Timestamp(number, step)})
                if step == 10:
                    os.kill(system.host_of("worker-1", task), signal.SIGKILL)
            system.until(lambda: documents(here) == documents(there), 300)
        system.start("worker-2")
        system.kill("worker-1")
        there["orders"].update_one({"_id": 3}, {"$set": {"last": True}})
        system.until(lambda: documents(here) == documents(there), 300)
