"""Which dead letters are to be sent again, and where they may go. Pure."""

from dataclasses import dataclass

from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_sdk.letters.dead_letters import Filter, Spans, format_spans
from rocketconnect_sdk.letters.replays import Failed
from rocketconnect_sdk.permissions.dead_letter_topics import may_hold_dead_letters, setting_said


@dataclass(frozen=True, slots=True)
class Replay:
    """What is to be sent again.

    Attributes:
        letters: Where they are.
        ends: What their topic holds; editions count up to there.
        wanted: Which of those.
        topic: Where they go.
        own_topics: Those of a source say themselves where they go, where it was another topic.
    """

    letters: Spans
    ends: Spans
    wanted: Filter
    topic: str
    own_topics: bool

    @property
    def ranges(self) -> list[str]:
        """Where they are, as the connector that sends them is told."""
        return format_spans(self.letters)

    @property
    def end_ranges(self) -> list[str]:
        """Up to where editions count, like them."""
        return format_spans({queue: [(0, spans[-1][1])] for queue, spans in self.ends.items()})


def failed_of(connector: connectors.Connector) -> Failed:
    """Return what of the connector that failed counts for a replay."""
    kind = connectors.ConnectorType.Name(connector.type).removeprefix("CONNECTOR_TYPE_")
    return Failed(connector.name, connector.uid, kind, connector.config)


def target(failed: Failed, to: str, allowed: str) -> str:
    """Return the topic to which dead letters of a connector go.

    Args:
        failed: The connector.
        to: Where its caller wants them; empty: where they came from.
        allowed: Patterns of other topics than that which they may go to.

    Raises:
        FailedPrecondition: NO_REPLAY_TARGET, REPLAY_TARGET_NOT_ALLOWED.
    """
    own = failed.own_target
    if to and to != own and not may_hold_dead_letters(to, allowed):
        message = (
            f"dead letters may not be sent to topic {to!r}: the executors' {setting_said(allowed)}; their operator can add it there"
        )
        raise FailedPrecondition("REPLAY_TARGET_NOT_ALLOWED", message, topic=to)
    if to or own:
        return to or own
    message = f"connector {failed.name!r} has no topic through which dead letters could come back; name one with --to TOPIC"
    raise FailedPrecondition("NO_REPLAY_TARGET", message, connector=failed.name)
