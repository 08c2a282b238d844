"""The staging directory in memory: whose owner died is removed, whose owner lives stays."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from services.executor.runtime.sink.spark import batches as spark_batches
from services.executor.runtime.sink.spark.batches import Staging

OWNER = """
import sys
from pathlib import Path
from services.executor.runtime.sink.spark import batches as spark_batches
spark_batches._MEMORY = Path(sys.argv[1])
staging = spark_batches.Staging()
print("staged", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(spark_batches, "_MEMORY", tmp_path)
    return tmp_path


def test_the_directory_of_a_living_owner_stays_and_that_of_a_killed_one_is_removed(memory: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(memory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        (theirs,) = memory.iterdir()
        mine = Staging()
        assert theirs.exists()
        owner.kill()
        owner.wait()
        other = Staging()
        assert not theirs.exists()
        with mine.parquet(pa.table({"value": ["x"]})) as path:
            assert Path(path).exists()
    mine.close()
    other.close()
    assert list(memory.iterdir()) == []
