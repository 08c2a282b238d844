"""The notebook of the examples works as it is written, and says what it shows."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketmq_remoting.client import Client
from tests.shared_rocketmq import RocketMQ

NOTEBOOK = Path(__file__).parents[2] / "examples" / "pyspark.ipynb"


@pytest.mark.slow
@pytest.mark.rocketmq
@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_each_cell_says_what_it_shows(rocketmq: RocketMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME_SERVERS", rocketmq.name_server)
    spark_session()  # which the notebook gets
    with Client(rocketmq.name_server) as client:
        for topic in ("notebook-orders", "notebook-totals"):
            client.create_topic(topic, queues=2)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert any(cell["outputs"] for cell in cells)
    names: dict[str, object] = {}
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec("".join(cell["source"]), names)  # it is ours
        assert said.getvalue() == "".join(line for output in cell["outputs"] for line in output["text"])
