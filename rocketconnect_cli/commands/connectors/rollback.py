"""`rocketconnect connector rollback`: an earlier configuration again, and if asked, from where it had ended."""

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, err, with_api
from rocketconnect_cli.shown import CONNECTOR, STORED, Name, bring_back, changed_or_same, offset_alone, show_stored, wanted_state
from rocketconnect_cli.signed import EtagOption, ReasonOption, author, signed
from rocketconnect_cli.states import State, wait_for

WANTING = {"RUNNING": "resume", "PAUSED": "pause", "STOPPED": "stop"}
"""The verb for each wanted state."""


@with_api
def rollback(
    name: Name,
    revision: Annotated[int, typer.Argument(metavar="REVISION", help="The revision whose configuration is wanted again.")],
    with_positions: Annotated[
        bool,
        typer.Option(
            "--with-positions",
            help="Also go back to where the connector was when that revision ended: what was moved since is moved again.",
        ),
    ] = False,
    timeout: Annotated[float, durations.option("With --with-positions: how long its tasks may take to stop.", default="1m")] = 60.0,
    reason: ReasonOption = "",
    etag: EtagOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make an earlier configuration the next revision; positions stay where they are unless --with-positions is given."""
    with api(url) as client:
        try:
            if with_positions:
                answer = _with_positions(client, name, revision, timeout, reason, etag)
            else:
                path, body = f"{connector_path(name)}:rollback", {"revision": revision, **signed(reason, etag)}
                answer = changed_or_same(client, name, lambda: client.request("POST", path, body=body, like=CONNECTOR))
        except ApiError as error:
            raise _or_deleted(client, name, error) from None
        show_stored(answer, output)


def _or_deleted(client: Api, name: str, error: ApiError) -> ApiError:
    """The error, or how to bring the connector back when it was deleted."""
    if error.problem.get("reason") != "CONNECTOR_NOT_FOUND":
        return error
    with suppress(ApiError):
        revisions = client.pages(f"{connector_path(name)}/revisions", "revisions", {"connectorUid": ""})
        for revision in islice(revisions, 1):
            detail = f"{name} was deleted; {bring_back(name, revision['connectorUid'])}, then roll it back"
            return ApiError(error.exit_code, {"detail": detail})
    return error


def _with_positions(client: Api, name: str, revision: int, timeout: float, reason: str, etag: str) -> dict[str, Any]:
    """Everything that can be refused is asked before anything is changed; it can be called again after it broke off."""
    path = connector_path(name)
    before = client.request("GET", path, like=STORED)["connector"]
    config = _config_of(client, path, before, revision)
    _require_end(client, path, revision)
    if config != before["config"]:
        _require_valid(client, name, config)
    # The etag goes from step to step: who changes the connector meanwhile is not written over.
    stopped = _want(client, path, "STOPPED", reason, etag or before["etag"])
    try:
        wait_for(client, name, [State.STOPPED], timeout)
        after, answer = stopped, dict[str, Any]()
        if config != before["config"]:
            body = {"revision": revision, **signed(reason, stopped["etag"])}
            answer = client.request("POST", f"{path}:rollback", body=body, like=STORED)
            after = answer["connector"]
    except ApiError:
        # Nothing but the wanted state was changed, and that is taken back, unless somebody else has changed it since.
        with suppress(ApiError):
            _want(client, path, wanted_state(before), "the rollback was refused", stopped["etag"])
        raise
    try:
        body = {"revision": revision, "author": author()}
        restored = client.request("POST", f"{path}/positions:restore", body=body, like={"positions": [{}]})
    except ApiError as error:
        detail = (
            f"{name} has the configuration of revision {revision} again and is stopped; its positions were not moved: {error} "
            f"Repeat the command to move them, or `rocketconnect connector {WANTING[wanted_state(before)]} {name}` without that."
        )
        raise ApiError(error.exit_code, {**error.problem, "detail": detail}) from None
    err.print(f"{name}: positions are those of the end of revision {revision}", markup=False)
    for partition in restored.get("offsetAlone", []):
        err.print(offset_alone(partition), markup=False)
    return {**answer, "connector": _want(client, path, wanted_state(before), reason, after["etag"])}


def _config_of(client: Api, path: str, connector: Mapping[str, Any], revision: int) -> dict[str, str]:
    for row in client.pages(f"{path}/revisions", "revisions", {"revision": "", "connectorUid": ""}):
        if (row["connectorUid"], int(row["revision"])) == (connector["uid"], revision):
            return dict(row.get("config", {}))
    detail = f"{connector['name']} has no revision {revision}; `rocketconnect connector revisions` shows those there are"
    raise ApiError(Exit.NOT_FOUND, {"detail": detail})


def _require_end(client: Api, path: str, revision: int) -> None:
    """Whether it is known where the connector was when the revision ended."""
    like = {"snapshots": [{"revision": "", "nextRevision": ""}], "openRevision": ""}
    answer = client.request("GET", f"{path}/positions/snapshots", like=like)
    opened = int(answer["openRevision"])
    known = [(int(each["revision"]), int(each["nextRevision"])) for each in answer["snapshots"]]
    if 0 < opened <= revision or any(first <= revision < following for first, following in known):
        return
    ends = ", ".join(str(first) for first, _following in known) or "none"
    detail = (
        f"where the connector was when revision {revision} ended is not known (known: {ends}). Roll back without "
        "--with-positions, or move its positions yourself. Nothing was changed."
    )
    raise ApiError(Exit.NOT_FOUND, {"detail": detail})


def _require_valid(client: Api, name: str, config: Mapping[str, str]) -> None:
    body = {"name": name, "config": config}
    problems = client.request("POST", "/v1/connectors:validate", body=body, like={"problems": [{}]})["problems"]
    if problems:
        detail = "the configuration of that revision would not be stored any more; nothing was changed"
        raise ApiError(Exit.WRONG, {"detail": detail, "problems": problems})


def _want(client: Api, path: str, wanted: str, reason: str, etag: str) -> dict[str, Any]:
    answer = client.request("POST", f"{path}:{WANTING[wanted]}", body=signed(reason, etag), like=STORED)
    return dict(answer["connector"])
