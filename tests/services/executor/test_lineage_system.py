"""A real executor tells a receiver of OpenLineage of a pipeline."""

from pathlib import Path

import pytest

from tests.services.executor.system import System, lines
from tests.services.executor.worker.lineage_receiver import receiving

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def test_a_pipeline_is_told_from_its_file_over_its_topic_to_its_target(system: System, tmp_path: Path) -> None:
    topic, source, out = f"lineage-{tmp_path.name}", tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{number}\n" for number in range(500)))
    with receiving() as receiver:
        system.start("worker-1", lineage_url=receiver.address, lineage_seconds="1", lineage_namespace="shop")
        system.create("reads", connector_class="file_source", topic=topic, filename=str(source))
        system.create("writes", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
        system.until(lambda: len(lines(out)) == 500)
        receiver.wait_for("reads.0", "RUNNING")
        system.until(lambda: receiver.types("writes.0").count("RUNNING") > 1)
        system.processes["worker-1"].terminate()
        system.processes["worker-1"].wait(60)
        read, written = (receiver.wait_for(job, "COMPLETE")[-1] for job in ("reads.0", "writes.0"))
    between = [(f"rocketmq://{system.name_server}", topic)]
    assert [(each["namespace"], each["name"]) for each in read["inputs"]] == [("file", str(source))]
    assert [(each["namespace"], each["name"]) for each in read["outputs"]] == between
    assert [(each["namespace"], each["name"]) for each in written["inputs"]] == between
    assert [(each["namespace"], each["name"]) for each in written["outputs"]] == [("file", str(out))]
    assert written["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 500
