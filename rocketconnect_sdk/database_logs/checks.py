"""What is wrong with the tables that are captured: their topics, keys and masks."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from rocketconnect_sdk.changes import topics
from rocketconnect_sdk.changes.message_keys import warnings_of_keyless
from rocketconnect_sdk.changes.topics import Named
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.routes.names import TOPIC_LENGTH
from rocketconnect_sdk.schema import Schema


def table_problems(
    capture: Capture,
    tables: Sequence[Named],
    columns: Mapping[str, tuple[Schema, Sequence[str]]],
    refused: Collection[str] = (),
) -> Iterator[Problem]:
    """All of it.

    Args:
        capture: As configured.
        tables: All that are captured, with their topics.
        columns: Of each whose columns are known, by what it is called: the type of its rows, and the columns of its records' key.
        refused: Those without a key for which there is a problem already.
    """
    for each in tables:
        if len(each.topic) > TOPIC_LENGTH:
            yield Problem("table.topic", each.topic, f"has more than {TOPIC_LENGTH} characters", "Give a shorter format.")
    if shared := topics.shared_topic(tables):
        yield Problem("table.topic", shared[0], shared[1], topics.FIX)
    yield from capture.keys.problems({table: [field.name for field in schema.fields] for table, (schema, _) in columns.items()})
    yield from capture.masks.problems(columns)
    yield from warnings_of_keyless({table: key for table, (_, key) in columns.items() if table not in refused})
