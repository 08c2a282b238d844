"""A client in another language, generated from the protos."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e
SOURCES = Path(__file__).parent / "node"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client with its packages and the code generated for it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "package-lock.json", ".npmrc", "client.mjs"):
        shutil.copy(SOURCES / name, folder / name)
    generation = (SOURCES / "buf.gen.yaml").read_text().replace("../../..", str(ROOT))
    (folder / "buf.gen.yaml").write_text(generation)
    subprocess.run(["npm", "ci", "--no-fund", "--no-audit"], cwd=folder, check=True, timeout=300)
    subprocess.run([str(ROOT / ".venv/bin/buf"), "generate"], cwd=folder, check=True, timeout=120)
    return folder


@pytest.mark.slow
def test_a_node_client_creates_and_watches_a_connector(instance: Any, client: Path) -> None:
    if instance.is_guarded:
        pytest.skip("the client shows no token")
    source = instance.folder / "node.txt"
    source.write_text("".join(f"line {number}\n" for number in range(1000)))
    config = {"connector.class": "file_source", "topic": "from-node", "filename": str(source)}
    services = instance.ready["services"]
    command = ["node", "client.mjs", services["config"], services["state"], "from-node", "1000", json.dumps(config)]
    answer = subprocess.run(command, cwd=client, check=True, capture_output=True, text=True, timeout=150)
    seen = json.loads(answer.stdout)
    assert seen["refused"] == "InvalidArgument"
    assert seen["revision"] == 1
    assert seen["moved"] == 1000
    assert seen["seen"][-1] in ("RUNNING", "IDLE")
    assert "from-node" not in {connector["name"] for connector in instance.api.pages("/v1/connectors", "connectors")}
