"""The topics of what partitions are of: topics of another system, streams. Pure."""

from collections.abc import Iterable

from rocketconnect_sdk.changes.topics import named, shared_topic
from rocketconnect_sdk.errors import PermanentError


def topics_of(template: str, placeholder: str, names: Iterable[str]) -> dict[str, str]:
    """By each of these names where its records go; empty: all to the topic of the configuration.

    Args:
        template: Of the configuration; empty: there is none.
        placeholder: What stands for a name there, as in ${topic}.
        names: Of the other system.

    Raises:
        PermanentError: two would share a topic.
    """
    if not template:
        return {}
    made = [named(name, template, {placeholder: name}) for name in names]
    if (shared := shared_topic(made)) is not None:
        msg = f"topic.template: {shared[0]} {shared[1]}. Read one of them with a connector of its own"
        raise PermanentError(msg)
    return {each.table: each.topic for each in made}
