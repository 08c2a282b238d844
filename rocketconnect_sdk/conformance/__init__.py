"""What plugins must do, as tests to subclass: `SourceSuite`, `SinkSuite`, `ConverterSuite`. Needs pytest.

Families have suites of their own, each in a module beside: `write.WriteSuite`, `table.TableSuite`, `queue.QueueSuite`,
`cursor.CursorSuite`, `listen.ListenSuite`, `transform.TransformSuite`.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{suite}"
        for suite in (
            "source",
            "sink",
            "sink_case",
            "write",
            "queue",
            "cursor",
            "listen",
            "table",
            "documented",
            "converter",
            "transform",
        )
    )
)

from rocketconnect_sdk.conformance.converter import ConverterCase, ConverterSuite  # noqa: E402  # after the line that makes asserts speak
from rocketconnect_sdk.conformance.sink import SinkSuite  # noqa: E402
from rocketconnect_sdk.conformance.sink_case import SinkCase  # noqa: E402
from rocketconnect_sdk.conformance.source import SourceCase, SourceSuite  # noqa: E402

__all__ = ["ConverterCase", "ConverterSuite", "SinkCase", "SinkSuite", "SourceCase", "SourceSuite"]
