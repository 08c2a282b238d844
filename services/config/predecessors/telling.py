"""What is told of a deleted connector that did the same work. Pure."""

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.origins.origin import FILES, Origin
from rocketconnect_sdk.targets.owned import Target
from services.config.domain import Connector, ConnectorType, Deleted
from services.config.origins.reads import topic_of

_TOLD = 3
_SHOWN = 200


def warning_of(name: str, before: Deleted, common: Origin | Target | None, positions: Mapping[str, str]) -> FieldProblem:
    """Return that a connector does over again what a deleted one did, and all ways out, the one that most people want first.

    Args:
        name: Of the connector.
        before: The deleted one.
        common: What both read, or alone may write; None: not known.
        positions: How far it came, offsets by partition; none: not known.
    """
    is_sink = before.connector.type is ConnectorType.SINK
    is_same = before.connector.name == name
    one = "a connector of this name" if is_same else f"the connector {before.connector.name!r}"
    when = datetime.fromtimestamp(before.delete_time // 1_000_000, UTC).isoformat(" ").replace("+00:00", "Z")
    one = f"{one} (uid {before.connector.uid}, deleted at {when})"
    into = f"the topic {topic_of(common)}" if isinstance(common, Origin) and not is_same else "the same topic"
    done, again = f"read the same into {into}", "sends its records again"
    if is_sink:
        done, again = "wrote to the same target", "writes its records there again"
    reason = f"{one} {done}{_until(positions)}: this one begins anew and {again}"
    ways = [_adopting(name, before.connector, is_same=is_same), *_others(common, is_sink=is_sink)]
    fix = " ".join(f"({number}) {way}" for number, way in enumerate(ways, start=1))
    key, value = ("name", "") if is_same or common is None else (common.key, common.name[:_SHOWN])
    return FieldProblem(key, value, reason, fix)


def _adopting(name: str, before: Connector, *, is_same: bool) -> str:
    quoted, adopting = shlex.quote(name), f"--adopt-uid {before.uid}"
    way = f"`rocketconnect connector create {quoted} {adopting}` (adopt_uid over REST)"
    if not is_same:
        # Without a configuration the one that it had comes back, and only under the name that it had.
        way = (
            f"create this one with {adopting} (adopt_uid over REST), or bring that one back: `rocketconnect connector create "
            f"{shlex.quote(before.name)} {adopting}`"
        )
    return f"To go on from there: {way}; where this one is created already, `rocketconnect connector delete {quoted}` first."


def _others(common: Origin | Target | None, *, is_sink: bool) -> Iterator[str]:
    if is_sink:
        yield "To begin anew: move away what was written, or name another target."
        yield "To have the records there once more, leave it so."
        return
    if isinstance(common, Origin) and common.place == FILES:
        file = "the files that were read" if common.is_pattern else shlex.quote(common.name)
        yield f"To read only what comes from now on: move {file} away first; a new file is read from its beginning."
    yield "To have all of it in a topic of its own: name another topic."
    yield "To have each record there twice, leave it so."


def _until(positions: Mapping[str, str]) -> str:
    if not positions:
        return ""
    told = [f"{partition} {offset}"[:_SHOWN] for partition, offset in sorted(positions.items())[:_TOLD]]
    more = len(positions) - len(told)
    return f" up to {', '.join(told)}" + (f" and {more} more" if more else "")
