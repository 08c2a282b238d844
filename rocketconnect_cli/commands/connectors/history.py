"""`rocketconnect connector revisions`, `history` and `diff`: what was changed, by whom, when and why."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.documents.difference import difference
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api, without_prefix
from rocketconnect_cli.shown import Name, local_time, who

Row = dict[str, Any]


@with_api
def revisions(name: Name, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List the configurations that a name has and had, the newest first: who wrote them, when, why, and what changed."""
    with api(url) as client:
        rows = _revisions(client, name)
    emit(output, {"revisions": rows}, lambda: table_of(("REVISION", "WHEN", "WHO", "WHAT", "UID", "WHY", "CHANGED"), _cells(rows)))


@with_api
def history(name: Name, url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List everything that was done to a connector, the newest first: changes, pauses, restarts, deletes; by whom and why."""
    with api(url) as client:
        rows = list(client.pages(f"{connector_path(name)}/changes", "changes", {"action": "", "time": ""}))
        found = list(client.pages(f"{connector_path(name)}/revisions", "revisions", {"revision": "", "connectorUid": ""}))
    changed = {(row["connectorUid"], row["revision"]): text for row, text in zip(found, _changed(found), strict=True)}
    for row in reversed(rows):
        # Of what was done under a revision, the first made it.
        row["changed"] = changed.pop((row.get("connectorUid"), row.get("revision")), "")
    cells = (
        (local_time(row["time"]), who(row), _action(row), row.get("revision", ""), row.get("reason", ""), row["changed"])
        for row in rows
    )
    emit(output, {"changes": rows}, lambda: table_of(("WHEN", "WHO", "WHAT", "REVISION", "WHY", "CHANGED"), cells))


@with_api
def diff(
    name: Name,
    old: Annotated[int | None, typer.Argument(metavar="OLD", help="A revision. Default: the one before the newest.")] = None,
    new: Annotated[int | None, typer.Argument(metavar="NEW", help="A revision. Default: the newest.")] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help=f"Exit with {int(Exit.CHANGES)} when something is different.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what is different between two revisions, key by key."""
    with api(url) as client:
        rows = _revisions(client, name)
    # A name that was deleted and created again counts from 1 again: the last connector of the name is meant.
    uid, newest = rows[0]["connectorUid"], int(rows[0]["revision"])
    configs = {int(row["revision"]): row.get("config", {}) for row in rows if row["connectorUid"] == uid}
    after = newest if new is None else new
    before = max((number for number in configs if number < newest), default=0) if old is None else old
    for number in (before, after):
        # Nothing was there before the first.
        if number not in configs and not (number == 0 and old is None):
            fix = f"`rocketconnect connector revisions {name}` shows those there are"
            raise ApiError(Exit.NOT_FOUND, {"detail": f"{name} has no revision {number}; {fix}"})
    changes = difference(configs.get(before, {}), configs[after])
    document = {"connector": name, "old": before, "new": after, "changes": [change.document() for change in changes]}
    lines = [line for change in changes for line in change.lines()]
    heading = f"{name}: revision {before} -> {after}" + ("" if changes else ": nothing is different")
    emit(output, document, lambda: [heading, *lines])
    if changes and exit_code:
        raise typer.Exit(int(Exit.CHANGES))


def last_config(client: Api, name: str, uid: str) -> dict[str, str]:
    """The last configuration of a connector that had this name and uid.

    Raises:
        ApiError: NOT_FOUND, when there is none.
    """
    for row in _ever(client, name):
        if row["connectorUid"] == uid:
            return dict(row.get("config", {}))
    detail = (
        f"no connector {name!r} had the uid {uid!r}, and the configuration of a deleted one comes back only under the name that it "
        "had: use that name (`rocketconnect connector revisions NAME` shows the uids that a name had), or give a configuration for "
        "this one with -f or -s"
    )
    raise ApiError(Exit.NOT_FOUND, {"detail": detail})


def last_uid(client: Api, name: str) -> str:
    """The uid of the connector that had this name last.

    Raises:
        ApiError: NOT_FOUND, when there never was one.
    """
    for row in _ever(client, name):
        return str(row["connectorUid"])
    raise ApiError(Exit.NOT_FOUND, {"detail": f"there never was a connector {name!r} that could be adopted"})


def _ever(client: Api, name: str) -> Iterator[Row]:
    """What a name has and had, the newest first; nothing where there never was a connector of this name."""
    try:
        yield from client.pages(f"{connector_path(name)}/revisions", "revisions", {"connectorUid": ""})
    except ApiError as error:
        if error.exit_code is not Exit.NOT_FOUND:
            raise


def _revisions(client: Api, name: str) -> list[Row]:
    rows = list(client.pages(f"{connector_path(name)}/revisions", "revisions", {"revision": "", "connectorUid": ""}))
    if not rows:
        raise ApiError(Exit.NOT_FOUND, {"detail": f"{name} has no revisions", "reason": "CONNECTOR_NOT_FOUND"})
    return rows


def _cells(rows: list[Row]) -> Iterator[tuple[object, ...]]:
    for row, changed in zip(rows, _changed(rows), strict=True):
        change = row.get("change") or {}
        when = local_time(row.get("createTime", ""))
        yield row["revision"], when, who(change), _action(change), row["connectorUid"], change.get("reason", ""), changed


def _changed(rows: list[Row]) -> Iterator[str]:
    """What is different in each revision from the one before it, keys with their values."""
    for number, row in enumerate(rows):
        older = rows[number + 1 :]
        before: Row = next((each for each in older if each["connectorUid"] == row["connectorUid"]), {})
        yield ", ".join(map(str, difference(before.get("config", {}), row.get("config", {})))) if before else "-"


def _action(change: Row) -> str:
    action = without_prefix(change.get("action"), "ACTION_").lower().replace("_", " ")
    of = int(change.get("ofRevision") or 0)
    return f"{action} to {of}" if of else {"": "-", "unspecified": "-"}.get(action, action)
