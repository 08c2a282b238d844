"""`rocketconnect apply`: connectors as files say."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.commands.connectors.rollback import WANTING
from rocketconnect_cli.commands.dead_letters.unreplayed import left_behind, unreplayed
from rocketconnect_cli.documents import reading as documents
from rocketconnect_cli.documents.plan import Action, Step, plan
from rocketconnect_cli.documents.reading import Problem
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, out, show_notes, show_warnings, with_api
from rocketconnect_cli.shown import STORED, bring_back, wanted_state
from rocketconnect_cli.signed import ReasonOption, signed
from rocketconnect_cli.states import DONE, State, wait_for

LISTED = {"name": "", "uid": "", "etag": "", "config": {}, "wantedState": "", "applySet": ""}
_NOTHING_DONE = "Nothing was changed."


@with_api
def apply(
    files: Annotated[
        list[Path],
        typer.Option(
            "--file", "-f", metavar="FILE", help=f"A file or a folder of files ({', '.join(documents.ENDINGS)}); again for more."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and print the plan, change nothing.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help=f"With --dry-run: exit with {int(Exit.CHANGES)} when something would be changed.")
    ] = False,
    apply_set: Annotated[
        str, typer.Option("--set", metavar="NAME", help="The set that the files are. Kept with each connector that they create.")
    ] = "",
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete what an earlier apply of this --set created and no file names any more.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what would be warned of, too.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until everything that was changed does what is wanted.")] = False,
    timeout: Annotated[float, durations.option("With --wait: how long, for all together.", default="2m")] = 120.0,
    reason: ReasonOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make connectors what files say: create, update, want a state, and with --prune delete. The same again changes nothing.

    Everything is checked before anything is changed. Exit codes: 0 done, 2 something is wrong with the files (nothing was
    changed), 4 somebody else changed a connector meanwhile, 1 and 6 with --wait: one FAILED, or the time is over.
    """
    if prune and not apply_set:
        raise ApiError(Exit.WRONG, {"detail": f"--prune deletes what belongs to a set of files: give --set NAME. {_NOTHING_DONE}"})
    if exit_code and not dry_run:
        raise ApiError(Exit.WRONG, {"detail": f"--exit-code goes with --dry-run. {_NOTHING_DONE}"})
    wanted, problems = documents.read(files)
    told: dict[str, list[Any]] = {"warnings": [], "notes": []}
    try:
        with api(url) as client:
            try:
                steps, refusals = plan(wanted, list(client.pages("/v1/connectors", "connectors", LISTED)), apply_set, prune=prune)
                problems += refusals + _checked(client, [step for step in steps if step.place and step.changes], told)
            except ApiError:
                # What is wrong with the files is told even when nobody answers.
                if not problems:
                    raise
            if strict:
                problems += told["warnings"]
                told["warnings"] = []
            if problems:
                raise ApiError(Exit.WRONG, {"detail": f"these files can't be applied. {_NOTHING_DONE}", "problems": problems})
            if output is not Output.JSON:
                _print_plan(steps)
            applied = [] if dry_run else _apply(client, steps, apply_set, reason, quiet=output is Output.JSON)
            if wait:
                _wait(client, applied, timeout)
        if output is Output.JSON:
            emit(output, {"applied": not dry_run, "steps": [step.document() for step in steps]}, str)
    finally:
        # Behind the plan and what was done, before what went wrong.
        show_warnings(told)
        show_notes(told)
    if exit_code and any(step.action is not Action.UNCHANGED for step in steps):
        raise typer.Exit(int(Exit.CHANGES))


def _checked(client: Api, steps: Sequence[Step], told: dict[str, list[Any]]) -> list[Problem]:
    """What an executor says of every configuration that would be written, all files together; warnings and notes go into `told`."""
    problems = []
    for number, step in enumerate(steps, 1):
        if err.is_terminal:
            err.print(f"checking {number} of {len(steps)}: {step.name}", markup=False, style="dim")
        body = {"name": step.name, "config": dict(step.config)}
        answer = client.request("POST", "/v1/connectors:validate", body=body, like={"problems": [{}]})
        left = left_behind(client, step.name, step.stored.get("config", {}), step.config)
        told["warnings"] += [{**each, "key": _where(step, each)} for each in (*answer.get("warnings", []), *left)]
        told["notes"] += [f"{_where(step, {})}: {note}" for note in answer.get("notes", [])]
        problems += [{**problem, "key": _where(step, problem)} for problem in answer["problems"]]
    return problems


def _where(step: Step, problem: Problem) -> str:
    return ": ".join(part for part in (step.place, step.name, problem.get("key", "")) if part)


def _print_plan(steps: Sequence[Step]) -> None:
    for step in steps:
        for line in step.lines():
            out.print(line, markup=False)
    counts = Counter(step.action for step in steps)
    told = ", ".join(f"{counts[action]} {'' if action is Action.UNCHANGED else 'to '}{action}" for action in Action)
    out.print(f"Plan: {told}.", markup=False)


def _apply(client: Api, steps: Sequence[Step], apply_set: str, reason: str, *, quiet: bool) -> list[tuple[Step, dict[str, Any]]]:
    """Carries the steps out one after the other; the first that fails ends it. What was done stays: the same apply goes on."""
    todo = [step for step in steps if step.action is not Action.UNCHANGED]
    done: list[tuple[Step, dict[str, Any]]] = []
    for step in todo:
        try:
            connector = _carry_out(client, step, apply_set, reason)
        except ApiError as error:
            left = ", ".join(each.name for each in todo[len(done) :])
            before = ", ".join(each.name for each, _connector in done) or "nothing"
            detail = f"{step.name}: {str(error).rstrip('.')}. Changed before: {before}; not changed: {left}. Apply again to go on."
            raise ApiError(error.exit_code, {**error.problem, "detail": detail}) from None
        done.append((step, connector))
        if not quiet:
            out.print(_told(step, connector), markup=False)
    return done


def _carry_out(client: Api, step: Step, apply_set: str, reason: str) -> dict[str, Any]:
    path = connector_path(step.name)
    if step.action is Action.DELETE:
        query = signed(reason, step.stored["etag"])
        left = unreplayed(client, step.name)
        connector = dict(client.request("DELETE", path, query=query, like=STORED)["connector"])
        return {**connector, "unreplayed": f"{left} that nobody has replayed stay in {left.topic}"} if left.count else connector
    if step.action is Action.CREATE:
        wanted = f"WANTED_STATE_{step.wanted_state or 'RUNNING'}"
        body = {"name": step.name, "config": dict(step.config), "wantedState": wanted, "applySet": apply_set, **signed(reason)}
        return dict(client.request("POST", "/v1/connectors", body=body, like=STORED)["connector"])
    # The etag goes from step to step, so what somebody else changed since the plan was made is not written over.
    connector = dict(step.stored)
    if step.changes:
        update = {"config": dict(step.config), **signed(reason, connector["etag"])}
        connector = client.request("PUT", path, body=update, like=STORED)["connector"]
    if step.wanted_state:
        order = f"{path}:{WANTING[step.wanted_state]}"
        connector = client.request("POST", order, body=signed(reason, connector["etag"]), like=STORED)["connector"]
    return dict(connector)


def _told(step: Step, connector: dict[str, Any]) -> str:
    if step.action is Action.DELETE:
        letters = f"; {connector['unreplayed']}" if "unreplayed" in connector else ""
        return f"{step.name} deleted{letters}; {bring_back(step.name, connector['uid'])}"
    return f"{step.name} {step.action}d: revision {connector['revision']}, wanted {wanted_state(connector)}"


def _wait(client: Api, applied: Sequence[tuple[Step, dict[str, Any]]], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    for step, connector in applied:
        if step.action is not Action.DELETE:
            state = wanted_state(connector)
            goal, revision = (DONE, int(connector["revision"])) if state == State.RUNNING else ([state], 0)
            wait_for(client, step.name, goal, max(0.0, deadline - time.monotonic()), revision=revision, altogether=timeout)
