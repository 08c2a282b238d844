"""Runs of tasks of record sinks, as the runtime drives them."""

from rocketconnect_sdk.conformance.runs import LOG, QUEUE, ROW, Run, row, run_of, write_at_once

__all__ = ["LOG", "QUEUE", "ROW", "Run", "row", "run_of", "write_at_once"]
