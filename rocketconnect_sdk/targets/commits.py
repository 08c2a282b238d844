"""Batches, and what a target has stored with its data. Pure."""

import json
from collections.abc import Mapping

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit


def is_written(stored: Mapping[str, QueuePosition], commit: SinkCommit) -> bool:
    """Whether a batch is there already.

    Args:
        stored: By queue the positions that the target has, read in the transaction that would write the batch.
        commit: The batch.

    Raises:
        PermanentError: it does not continue what is stored.
    """
    if commit.after and all(stored.get(queue) == position for queue, position in commit.after.items()):
        return True
    for queue, before in commit.before.items():
        there = stored.get(queue)
        if there and before.place < there.place:
            msg = f"{queue}: everything up to {there.until} is there; restart the connector"
            raise PermanentError(msg)
    return False


def told(connector_uid: str, task: int, positions: Mapping[str, QueuePosition]) -> str:
    """What the history of the table says to people of a commit of a task: which messages are in the table up to there."""
    until = {queue: position.until for queue, position in sorted(positions.items())}
    return json.dumps({"connector": connector_uid, "task": task, "until": until})
