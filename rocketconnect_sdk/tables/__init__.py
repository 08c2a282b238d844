"""Sinks that write rows to tables: the author writes a dialect and how a batch is loaded, the rest is here.

    class MySink(TableSink):
        def dialect(self, config, *, seconds=0.0): ...   # a Dialect: which tables there are, how they are changed
        def loader(self, config, connector_uid, owner, log): ...   # a Loader: claims positions, and loads batches with them

Records become rows where they are: routing, keys, change envelopes, evolution, fitted values and bad records are no matter of the
author. The task gives each table its part of a batch, and leaves out what is there already.
"""

from rocketconnect_sdk.tables.options import COLUMNS, EVOLUTION, POSITIONS_TABLE, TABLE, TABLE_CREATE
from rocketconnect_sdk.tables.settings import TableSettings, settings_of
from rocketconnect_sdk.tables.sink import CHECK_SECONDS, TableSink
from rocketconnect_sdk.targets.owners import Owner

__all__ = [
    "CHECK_SECONDS",
    "COLUMNS",
    "EVOLUTION",
    "POSITIONS_TABLE",
    "TABLE",
    "TABLE_CREATE",
    "Owner",
    "TableSettings",
    "TableSink",
    "settings_of",
]
