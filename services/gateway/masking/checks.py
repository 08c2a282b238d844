"""What a check of a configuration says, without values of the records that it has looked at. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from google.protobuf.message import Message
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import InvalidArgument

_OF_RECORDS = ("converter", "columns", "transforms", "query", "topic")
"""Ends of the names of options that are held against the newest records: what is said of them names a value that does not fit."""
_HIDDEN = "the reason is masked, as it may tell a value of a record (the gateway's setting `mask`)"


def told(answer: Message) -> None:
    """Mask what an answer tells of a configuration."""
    match answer:
        case config.ValidateConnectorResponse() | config.PreviewConnectorResponse():
            _hide(answer.problems)
            _hide(answer.warnings)
        case config.CreateConnectorResponse() | config.UpdateConnectorResponse():
            _hide(answer.warnings)
        case _:
            pass


def refused(error: InvalidArgument) -> InvalidArgument:
    """Return the refusal of a configuration, without that."""
    if not any(_is_of_records(each.field) for each in error.problems):
        return error
    problems = [replace(each, reason=_HIDDEN) if _is_of_records(each.field) else each for each in error.problems]
    message = ". ".join(str(each).removesuffix(".") for each in problems)
    return InvalidArgument(error.reason, message, problems, **error.metadata)


def _hide(problems: Iterable[connectors.Problem]) -> None:
    for each in problems:
        if _is_of_records(each.key):
            each.reason = _HIDDEN


def _is_of_records(key: str) -> bool:
    return key.casefold().endswith(_OF_RECORDS)
