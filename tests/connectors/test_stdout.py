import pytest

from connectors.stdout import Stdout
from rocketconnect_sdk.conformance import SinkCase, SinkSuite


class TestConformance(SinkSuite):
    @pytest.fixture
    def case(self, capfd: pytest.CaptureFixture[str]) -> SinkCase:
        read: list[str] = []

        def lines() -> list[str]:
            read.extend(capfd.readouterr().out.splitlines())
            return read

        return SinkCase(Stdout(), {}, lines)
