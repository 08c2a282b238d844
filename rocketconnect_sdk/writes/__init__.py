"""Sinks that write keys, documents, messages: the author writes a connection, the rest is here.

    class MySink(WriteSink):
        def addressing(self, config): ...   # which templates, which form of values
        def connect(self, config, context): ...   # a Connection
        def look(self, config): ...   # what is wrong with a configuration

A record becomes operations (put, delete, append) where it is; the task writes them in their order.
"""

from rocketconnect_sdk.writes.connection import Connection, TransactionalConnection
from rocketconnect_sdk.writes.operations import Addressing, Form, Op, Operation, field_values
from rocketconnect_sdk.writes.sink import DELETE_ENABLED, FLUSHES, WriteSink
from rocketconnect_sdk.writes.task import OperationWriter, WriteTask
from rocketconnect_sdk.writes.templates import FORM, TEMPLATE_FIX, Template, as_text, template_option, template_problem

__all__ = [
    "DELETE_ENABLED",
    "FLUSHES",
    "FORM",
    "TEMPLATE_FIX",
    "Addressing",
    "Connection",
    "Form",
    "Op",
    "Operation",
    "OperationWriter",
    "Template",
    "TransactionalConnection",
    "WriteSink",
    "WriteTask",
    "as_text",
    "field_values",
    "template_option",
    "template_problem",
]
