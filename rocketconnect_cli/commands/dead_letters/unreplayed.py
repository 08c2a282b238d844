"""Dead letters that nobody has replayed, before what they need is deleted or names another topic for them."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import typer

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.output import err
from rocketconnect_sdk.letters.replays import DEAD_LETTER_TOPIC
from rocketconnect_sdk.wording.counts import counted

NOT_REPLAYED = "DEAD_LETTERS_NOT_REPLAYED"
_KEEPS_NONE = "NO_DEAD_LETTER_TOPIC"


@dataclass(frozen=True, slots=True)
class Unreplayed:
    """Letters of a connector that nobody has replayed.

    Attributes:
        count: How many.
        topic: Where they are.
        is_all: There are no more.
    """

    count: int = 0
    topic: str = ""
    is_all: bool = True

    def __str__(self) -> str:
        """For people."""
        return f"{'' if self.is_all else 'at least '}{counted(self.count, 'dead letter')}"


def unreplayed(client: Api, name: str) -> Unreplayed:
    """Those of a connector. Nobody is kept from deleting because nobody knows: that is said.

    Raises:
        ApiError: NOT_FOUND: there is no such connector.
    """
    path = f"{connector_path(name)}/deadLetters:count"
    try:
        answer = client.request("GET", path)
    except ApiError as error:
        if error.exit_code is Exit.NOT_FOUND:
            raise
        if error.problem.get("reason") != _KEEPS_NONE:
            unknown = f"whether {name} has dead letters that nobody has replayed is not known: {error}"
            err.print(unknown, style="yellow", markup=False)
        return Unreplayed()
    return Unreplayed(int(answer.get("unreplayed", 0)), answer.get("topic", ""), answer.get("complete", True))


def left_behind(client: Api, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[dict[str, str]]:
    """What is to be warned of where a configuration changes: letters in a topic that it no longer names, which are not shown then.

    To be asked before the change.
    """
    was, now = (each.get(DEAD_LETTER_TOPIC, "") for each in (before, after))
    found = Unreplayed() if not was or was == now else unreplayed(client, name)
    if not found.count:
        return []
    reason = f"{found} of {name} that nobody has replayed stay in {was}, where `rocketconnect dlq` does not look any more"
    if found.is_all and found.count == 1:
        reason = reason.replace(" stay in ", " stays in ")
    lists = f"`rocketconnect topic peek {shlex.quote(was)} --properties` lists what is there"
    replay = f"`rocketconnect dlq replay {shlex.quote(name)} --all`"
    fix = f"{lists}. To send it again, name {was} once more, and the other topic after {replay}."
    return [{"key": DEAD_LETTER_TOPIC, "value": now, "reason": reason, "fix": fix}]


def check_unreplayed(client: Api, name: str) -> None:
    """Asks before a connector is deleted that has some.

    Raises:
        ApiError: WRONG: somebody says no, or nobody can be asked; NOT_FOUND.
    """
    found = unreplayed(client, name)
    if not found.count:
        return
    has = f"{name} has {found} that nobody has replayed: without it they stay in {found.topic} until RocketMQ removes them"
    look = f"`rocketconnect dlq list {name}` shows them, and `dlq discard {name} --all` gives them up"
    if not is_asked():
        raise ApiError(Exit.WRONG, {"detail": f"{has}; {look}. {name} was not deleted: say --yes where nobody can be asked"})
    if not typer.confirm(f"{has}. Delete it all the same?", err=True):
        raise ApiError(Exit.WRONG, {"detail": f"{name} was not deleted; {look}"})


def is_asked() -> bool:
    """Whether somebody is there who could answer."""
    return sys.stdin.isatty()
