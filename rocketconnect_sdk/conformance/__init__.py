"""What every connector must do, as tests to subclass: `SourceSuite` and `SinkSuite`. Needs pytest."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.source", f"{__name__}.sink", f"{__name__}.sink_case")

from rocketconnect_sdk.conformance.sink import SinkSuite  # noqa: E402  # after the line that makes asserts speak
from rocketconnect_sdk.conformance.sink_case import SinkCase  # noqa: E402
from rocketconnect_sdk.conformance.source import SourceCase, SourceSuite  # noqa: E402

__all__ = ["SinkCase", "SinkSuite", "SourceCase", "SourceSuite"]
