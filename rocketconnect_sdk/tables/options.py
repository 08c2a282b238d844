"""The options that sinks of tables have in common."""

from dataclasses import replace

from rocketconnect_sdk.columns.declared import columns_option
from rocketconnect_sdk.evolution import POLICY, Policy
from rocketconnect_sdk.options import Kind, Option

TABLE = Option(
    "table",
    "The table. ${topic} stands for the topic; before a point stands another database. One connector has it.",
    default="${topic}",
)
TABLE_CREATE = Option("table.create", "A table that is not there is made of the columns of the first record.", Kind.BOOL, "false")
EVOLUTION = replace(POLICY, default=Policy.FAIL.value)
COLUMNS = columns_option(
    "Makes rows of JSON objects that have no schema; fields that are no columns are left out. Without it they have the "
    "columns of the table. Values with a schema need no columns."
)
POSITIONS_TABLE = Option(
    "positions.table",
    "The table that keeps the positions of the queues, beside the data.",
    default="rocketconnect_positions",
)
