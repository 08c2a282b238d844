"""What a sink of tables does when records do not have the columns of its table: one policy for all sinks.

A sink has the option POLICY, says what its table can become (Takes), and asks `settle` in DataFrameSinkTask.columns_for. The
runtime gives the records these columns, see fitting.fit. docs/types.md has the table: old schema x new schema -> what happens.
"""

from rocketconnect_sdk.evolution.options import POLICY, policy_problems
from rocketconnect_sdk.evolution.settling import OfAnotherTable, OtherColumns, Policy, Settled, Takes, is_of_another, settle
from rocketconnect_sdk.evolution.tables import VALUE, Change, Kind, as_table, nullable, same_but_for_case

__all__ = [
    "POLICY",
    "VALUE",
    "Change",
    "Kind",
    "OfAnotherTable",
    "OtherColumns",
    "Policy",
    "Settled",
    "Takes",
    "as_table",
    "is_of_another",
    "nullable",
    "policy_problems",
    "same_but_for_case",
    "settle",
]
