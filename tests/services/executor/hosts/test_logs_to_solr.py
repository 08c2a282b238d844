"""Logs that are rotated go into a topic, and out of it into documents of Solr, through a real executor, while that is killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.servers.solr.standin import StandIn
from tests.services.executor.system import System

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def test_records_of_logs_are_documents_once_though_hosts_and_executors_are_killed(system: System, tmp_path: Path) -> None:
    system.start("worker-1")
    topic, log = f"logs-{os.getpid()}-{time.time_ns()}", tmp_path / "app.log"
    records: list[str] = []

    def write(count: int) -> None:
        with log.open("a") as file:
            for _ in range(count):
                records.append(f"{len(records)} ünï\n  at line {len(records)}")
                file.write(f"{records[-1]}\n")

    with StandIn() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        form = {"value_converter": "json", "value_converter_schemas_enable": "false"}
        gathered = {
            "multiline_start": r"^\d",
            "multiline_timeout": "1s",
            "format": "grok",
            "grok": "^%{INT:n:int} %{GREEDYDATA:text}$",
        }
        system.create("logs", connector_class="log_source", topic=topic, filename=f"{log}*", **gathered, **form)
        out = {"url": server.url, "collection": "logs", "id": "${value.n}"}
        system.create("solr", connector_class="solr_sink", topics=topic, engine="native", **out, **form)

        def is_all_there() -> bool:
            return len(server.documents("logs")) == len(records)

        write(100)
        system.until(is_all_there)
        for number, task in enumerate(("logs/0", "solr/0")):
            os.kill(system.host_of("worker-1", task), signal.SIGKILL)
            write(50)
            log.rename(f"{log}.{number}")
            write(50)
            system.until(is_all_there)
        system.start("worker-2")
        system.kill("worker-1")
        write(50)
        system.until(is_all_there)
        expected = {
            str(number): {"id": str(number), "n": number, "text": text.partition(" ")[2]} for number, text in enumerate(records)
        }
        assert server.documents("logs") == expected
        server.shutdown()
