"""Real services and an executor tell a collector of calls and of the way of a record."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rocketconnect_kit.collector import Collector, collecting
from tests.services.executor.system import System, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """What is started from now on tells it."""
    with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{made.address}")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        yield made


def test_a_record_is_seen_from_its_source_to_its_sink_beside_calls_of_services(
    collector: Collector, system: System, tmp_path: Path
) -> None:
    system.start("worker-1", trace_records="1")
    topic, out = f"traced-{tmp_path.name}", tmp_path / "out.txt"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records="500", max_tasks="1")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) == 500)
    found = collector.wait_for(
        "read numbers", f"send {topic}", "deliver lines", "rocketconnect.config.v1.ConfigService/CreateConnector"
    )
    assert found["deliver lines"].trace_id == found["read numbers"].trace_id
    assert found["deliver lines"].parent_span_id == found[f"send {topic}"].span_id
    assert {f"rocketconnect-{name}" for name in ("config", "position", "state", "cluster", "executor")} <= collector.services
