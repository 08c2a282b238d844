"""What becomes of dead letters that were sent back to their sink: it takes them, or they come back."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rich.table import Table

from rocketconnect_cli.api import Api, checked_name, connector_path
from rocketconnect_cli.output import err, table_of
from rocketconnect_cli.states import State, get_state, state_name

_LONGEST = 60.0
"""Seconds in which a sink has taken them, if it has something to do at all: it writes when its flush.interval is over."""
_PAUSE = 0.5
_UNABLE = (State.PAUSED, State.STOPPED, State.FAILED)


def replay_found(client: Api, name: str, replay: str) -> dict[str, Any]:
    """What a replay of the letters of a connector has done so far."""
    path = f"{connector_path(name)}/replays/{quote(checked_name(replay), safe='')}"
    like = {"sent": "", "leftOut": "", "leftOutIds": [""], "done": True, "returned": ""}
    return client.request("GET", path, like=like)


def followed(client: Api, name: str, replay: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of letters that were sent, when their sink has taken them, or does not for a minute.

    Args:
        client: The API.
        name: The connector that failed at them.
        replay: What has sent them.
        found: As it was when all were sent.

    Returns: That, with what came back, and under "taken" whether that is all; under "untaken" why it is not known.
    """
    ends = {queue: int(end) for queue, end in found.get("ends", {}).items()}
    if not ends or not int(found["sent"]):
        return dict(found)
    until, untaken = time.monotonic() + _LONGEST, ""
    while not _are_behind(client, name, ends):
        state = state_name(get_state(client, name))
        if state in _UNABLE:
            untaken = f"{name} is {state}"
        elif time.monotonic() > until:
            untaken = f"{name} has not come to {'it' if int(found['sent']) == 1 else 'all of them'} in {_LONGEST:g} s"
        if untaken:
            break
        if err.is_terminal:
            err.print(f"\rwaiting for what {name} makes of them ", end="")
        time.sleep(_PAUSE)
    known = {"taken": not untaken, **({"untaken": untaken} if untaken else {})}
    return {**replay_found(client, name, replay), **known}


def told_of_return(name: str, done: Mapping[str, Any]) -> str:
    """What follows behind the line that tells what was sent; nothing where nobody knows who reads it."""
    if "taken" not in done:
        return ""
    back, sent = int(done["returned"]), int(done["sent"])
    said = []
    if back:
        which = "it" if sent == 1 else f"{back:,} of them"
        said.append(f"{which} came back: {name} fails at {'it' if back == 1 else 'them'} again")
    if not done["taken"]:
        what = "what else" if back else "what"
        said.append(f"{what} comes back is not known yet ({done['untaken']}): `rocketconnect dlq list {name}` shows it")
    elif not back:
        said.append(f"{name} took {'it' if sent == 1 else 'them'}")
    return "; " + "; ".join(said)


def returned(done: Mapping[str, Any]) -> list[Table | str]:
    """A line for each letter that came back, the first hundred."""
    letters = done.get("returnedLetters", [])
    rows = [(each["cameBackFrom"], each["id"], each["error"], each["message"].partition("\n")[0]) for each in letters]
    return [table_of(("WAS", "ID", "ERROR", "MESSAGE"), rows)] if rows else []


def _are_behind(client: Api, name: str, ends: Mapping[str, int]) -> bool:
    """Whether a sink has come to these places."""
    pages = client.pages(f"{connector_path(name)}/positions", "positions", {"partition": "", "offset": ""})
    there = {row["partition"]: row["offset"] for row in pages if row["partition"] in ends}
    return all(queue in there and _number(there[queue]) >= end for queue, end in ends.items())


def _number(offset: Any) -> int:
    """Of an offset as JSON has it, "17" or [17]."""
    return int(offset[0] if isinstance(offset, list) else str(offset).strip("[]"))
