from pathlib import Path

import pytest

from connectors.file_lines import FileLines
from rocketconnect_sdk.conformance import SinkCase, SinkSuite


class TestConformance(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out.txt"
        return SinkCase(FileLines(), {"filename": str(path)}, lambda: path.read_text().splitlines(), directory=tmp_path)
