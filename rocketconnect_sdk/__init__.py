"""What a connector author imports. Standard library only: Arrow, Spark and msgspec are imported where they are used.

The other public modules: writes, converters, conformance, testing, files, columns, arrow; for runtimes loader, connector_options.
"""

from rocketconnect_sdk.columns.sinks import ArrowSink, ArrowSinkTask, DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import (
    ConfigError,
    ConnectorError,
    PermanentError,
    Problem,
    RecordError,
    RecordRefused,
    RetriableError,
    SystemAway,
)
from rocketconnect_sdk.options import Config, Kind, Option, parse, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.record import Offset, Position, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.schema import Field, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.sink import (
    BufferedSink,
    BufferedSinkTask,
    FlushPolicy,
    Guarantee,
    QueuePosition,
    Receipt,
    RecordSink,
    RecordSinkTask,
    Sink,
    SinkCommit,
    SinkTask,
    SinkWriter,
    SourceMark,
)
from rocketconnect_sdk.source import Edge, Plan, Signal, Source, SourceTask, never
from rocketconnect_sdk.targets.owned import Target
from rocketconnect_sdk.verification import CapturedTable, KeptRows, ReadRows, SinkTables, SourceTables, TableRows
from rocketconnect_sdk.version import __version__

__all__ = [
    "ArrowSink",
    "ArrowSinkTask",
    "BufferedSink",
    "BufferedSinkTask",
    "CapturedTable",
    "Config",
    "ConfigError",
    "ConnectorError",
    "DataFrameSink",
    "DataFrameSinkTask",
    "Edge",
    "Field",
    "FlushPolicy",
    "Guarantee",
    "KeptRows",
    "Kind",
    "Offset",
    "Option",
    "Origin",
    "PermanentError",
    "Plan",
    "Position",
    "Problem",
    "QueuePosition",
    "ReadRows",
    "Receipt",
    "RecordError",
    "RecordRefused",
    "RecordSink",
    "RecordSinkTask",
    "Rejected",
    "RetriableError",
    "Schema",
    "Signal",
    "Sink",
    "SinkBatch",
    "SinkCommit",
    "SinkTables",
    "SinkTask",
    "SinkWriter",
    "Source",
    "SourceBatch",
    "SourceMark",
    "SourceTables",
    "SourceTask",
    "SystemAway",
    "TableRows",
    "Target",
    "TaskContext",
    "Type",
    "Unit",
    "__version__",
    "decimal",
    "never",
    "parse",
    "run_checks",
    "struct",
    "timestamp",
]
