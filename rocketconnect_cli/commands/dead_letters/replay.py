"""`rocketconnect dlq replay`: dead letters are sent again, and waited for."""

import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.commands.dead_letters.returning import followed, replay_found, returned, told_of_return
from rocketconnect_cli.letters import Error, Name, Since, Stage, Task, filters
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, table_of, with_api, without_prefix
from rocketconnect_cli.signed import author
from rocketconnect_cli.states import State, counter, get_state, state_name
from rocketconnect_sdk.wording.counts import counted

WAIT_SECONDS = 0.5
UNKNOWN_SECONDS = 15.0
OUTCOME = {"id": "", "outcome": "", "reason": ""}
_WORDS = {
    "RECORD": "become a record",
    "AS_IT_IS": "go as it is",
    "DROPPED": "be dropped by transforms",
    "FAILS": "fail",
    "LEFT_OUT": "not be sent",
}


@with_api
def replay(
    name: Name,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="LETTER", help="Which: broker:queue:offset or broker:queue:first-last.")
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="All that there are now and were not replayed or discarded yet, without copies; the filters choose."
        ),
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Of --all, also those that were replayed or discarded before.")] = False,
    since: Since = "",
    task: Task = None,
    stage: Stage = "",
    error: Error = "",
    if_newer: Annotated[
        bool, typer.Option("--if-newer", help="Leave out those of whose key the topic has a newer record, for keyed sinks.")
    ] = False,
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="Send them to this topic instead of to the connector.")] = "",
    create_topic: Annotated[bool, typer.Option("--create-topic", help="Make the topic when there is none of this name.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent, and what would become of it.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until all are confirmed.")] = False,
    going: Annotated[str, typer.Option("--continue", metavar="REPLAY", help="Wait for this replay, which was begun before.")] = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send dead letters again, once each and in their order: to the connector that failed at them."""
    if not going and every == bool(ids):
        raise ApiError(Exit.WRONG, {"detail": "give ids, or --all, not both." if every else "give ids, or --all."})
    with api(url) as client:
        if going:
            done: dict[str, Any] = {"replay": going}
        else:
            body = {
                **filters(since, task, stage, error),
                "ids": ids or [],
                "all": every,
                "again": again,
                "ifNewer": if_newer,
                "to": to,
                "createTopic": create_topic,
                "dryRun": dry_run,
                "requestId": uuid.uuid4().hex,
                "author": author(),
            }
            like = {
                "replay": "",
                "topic": "",
                "count": "",
                "cut": "",
                "replayed": "",
                "unmade": "",
                "copies": "",
                "discarded": "",
                "outcomes": [OUTCOME],
            }
            done = client.request("POST", f"{connector_path(name)}/deadLetters:replay", body=body, like=like)
        if done["replay"] and not no_wait:
            done |= followed(client, name, done["replay"], _wait(client, name, done["replay"]))
    told = partial(_told, done, dry_run=dry_run, if_newer=if_newer, every=every, again=again)
    emit(output, done, lambda: [told() + told_of_return(name, done), *_outcomes(done.get("outcomes", [])), *returned(done)])


def _wait(client: Api, name: str, replay_name: str) -> dict[str, Any]:
    """What it has done, when all is confirmed and noted; the executor that did it then removes the connector."""
    go_on = f"rocketconnect dlq replay {name} --continue {replay_name}"
    begun, was_there = time.monotonic(), False
    try:
        while True:
            state = _state(client, replay_name)
            if state is None:
                found = replay_found(client, name, replay_name)
                if found["done"]:
                    return found
                # The state service hears of a new connector a moment later than the one who made it.
                if was_there or time.monotonic() - begun > UNKNOWN_SECONDS:
                    raise _gone(replay_name, found)
            elif state_name(state) == State.FAILED:
                told = f"the replay can't go on: {state.get('trace', '')}"
                end = f"End it with `rocketconnect connector delete {replay_name}`"
                mend = f"mend it, `rocketconnect connector restart {replay_name}`, and wait for it again with `{go_on}`"
                raise ApiError(Exit.FAILED, {"detail": f"{told}. {end}; or {mend}"})
            else:
                was_there = True
                if err.is_terminal:
                    left = sum(counter(task, "sourceRemaining") for task in state.get("tasks", []))
                    err.print(f"\r{left} left ", end="")
            time.sleep(WAIT_SECONDS)
    except KeyboardInterrupt:
        err.print(
            f"\nThe replay goes on. Wait for it again with `{go_on}`, "
            f"or end it with `rocketconnect connector delete {replay_name}`."
        )
        raise typer.Exit(int(Exit.TIMEOUT)) from None


def _state(client: Api, replay_name: str) -> dict[str, Any] | None:
    """None: there is no such connector."""
    try:
        return get_state(client, replay_name)
    except ApiError as error:
        if error.exit_code is not Exit.NOT_FOUND:
            raise
        return None


def _gone(replay_name: str, found: dict[str, Any]) -> ApiError:
    sent = f" after it had sent {_letters(found['sent'])}" if int(found["sent"]) else ""
    return ApiError(Exit.NOT_FOUND, {"detail": f"there is no replay {replay_name!r}: somebody has deleted it{sent}."})


def _told(done: dict[str, Any], *, dry_run: bool, if_newer: bool, every: bool, again: bool) -> str:
    """One line on a replay."""
    to = f" to {done['topic']}" if "topic" in done else ""
    if "done" in done:
        ids = ", ".join(done["leftOutIds"]) + (", ..." if len(done["leftOutIds"]) < int(done["leftOut"]) else "")
        out = f", left out {done['leftOut']} (a newer record of its key): {ids}" if int(done["leftOut"]) else ""
        said = f"sent {_letters(done['sent'])}{to}{out}"
    elif not int(done["count"]):
        said = "there is nothing to send"
    elif dry_run:
        said = f"would send {'up to ' if if_newer else ''}{_letters(done['count'])}{to}"
    else:
        said = f"{done['replay']} sends {'up to ' if if_newer else ''}{_letters(done['count'])}{to}"
        said += f"; `rocketconnect connector status {done['replay']}` shows it until it is done"
    if cut := int(done.get("cut", 0)):
        said += f"; {counted(cut, '', 'is', 'are')} cut and can't be sent before you edit {'it' if cut == 1 else 'them'}"
    if unmade := int(done.get("unmade", 0)):
        it = "it" if unmade == 1 else "them"
        said += f"; {unmade:,} can't be sent, because the source could make no messages of {it}: correct {it} with "
        said += f"`dlq edit`, or send {it} unchanged to another topic with --to TOPIC"
    if before := int(done.get("replayed", 0)):
        it = "it" if before == 1 else "them"
        of_all = f"; left out {counted(before, '', 'that was', 'that were')} replayed before (--again sends {it}, too)"
        said += of_all if every and not again else f"; {counted(before, '', 'of them was', 'of them were')} replayed before"
    if given_up := int(done.get("discarded", 0)):
        it = "it" if given_up == 1 else "them"
        of_all = f"; left out {counted(given_up, '', 'that was', 'that were')} discarded (--again sends {it}, too)"
        said += of_all if every and not again else f"; {counted(given_up, '', 'of them was', 'of them were')} discarded before"
    if copies := int(done.get("copies", 0)):
        left_out = f"; left out {counted(copies, '', 'that is a copy of another', 'that are copies of others')}"
        said += left_out if every else f"; {counted(copies, '', 'of them is a copy of another', 'of them are copies of others')}"
    return said


def _outcomes(found: Sequence[Mapping[str, str]]) -> list[Table]:
    """A line for each letter, after a dry run."""
    rows = [(each["id"], _WORDS.get(without_prefix(each["outcome"], "OUTCOME_"), "not known"), each["reason"]) for each in found]
    return [table_of(("ID", "WOULD", "WHY"), rows)] if rows else []


def _letters(count: str) -> str:
    return counted(count, "dead letter")
