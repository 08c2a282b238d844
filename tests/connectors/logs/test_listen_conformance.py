"""What every source that listens must do: over RELP, where who sends is told."""

from collections.abc import Sequence

import pytest

from connectors.logs.syslog_source import SyslogSource
from rocketconnect_sdk.conformance.listen import ListenCase, ListenSuite
from tests import free_ports
from tests.connectors.logs.senders import relp
from tests.suites import slow_but


@slow_but("test_its_options_are_documented", "test_who_sends_is_answered_when_it_is_stored_and_not_before")
class TestRelp(ListenSuite):
    @pytest.fixture
    def case(self) -> ListenCase:
        port = free_ports.choose()

        def send(texts: Sequence[str]) -> bool:
            try:
                return relp(port, [text.encode() for text in texts])
            except OSError:
                return False

        return ListenCase(SyslogSource(), {"listen": f"127.0.0.1:{port}", "transport": "relp", "value.format": "text"}, send)
