"""What every connector must do, as tests to subclass: `SourceSuite` and `SinkSuite`. Needs pytest."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.source", f"{__name__}.sink")

from rocketconnect_sdk.conformance.source import SourceCase, SourceSuite  # noqa: E402  # after the line that makes asserts speak

__all__ = ["SourceCase", "SourceSuite"]
