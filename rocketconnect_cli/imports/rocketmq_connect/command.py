"""`rocketconnect import rocketmq-connect`: what a worker of RocketMQ Connect has stored becomes connectors of this instance."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.api import ApiError, Exit, connector_path
from rocketconnect_cli.documents import configuration
from rocketconnect_cli.imports.carrying import carry_out, checked, store_secrets
from rocketconnect_cli.imports.plan import Wish, clashes
from rocketconnect_cli.imports.rocketmq_connect.plan import Step, bring_group, group_of, plan, say_where_a_sink_begins
from rocketconnect_cli.imports.rocketmq_connect.stores import read
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, out, show_warnings, with_api
from rocketconnect_cli.signed import ReasonOption
from rocketconnect_sdk.wording.counts import counted


@with_api
def rocketmq_connect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The storePathRootDir of a worker that is stopped, or a copy.")],
    connectors: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Only these connectors. Default: all of the worker.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do it. Without it the plan is printed, and nothing is changed.")
    ] = False,
    start: Annotated[
        bool, typer.Option("--start", help="Want them RUNNING when they are here, unless they were paused. Default: STOPPED.")
    ] = False,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--connectors",
            metavar="FILE",
            help="What GET /allocated/connectors of a standalone worker answered, which stores no connectors.",
        ),
    ] = None,
    namesrv: Annotated[
        str, typer.Option("--namesrv", metavar="HOST:PORT", help="Name servers of the cluster, which knows where sinks are.")
    ] = "",
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Another value in each configuration; again for more."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Leave this key out of each configuration; again for more.")
    ] = None,
    no_positions: Annotated[
        bool, typer.Option("--no-positions", help="Bring no positions: all begin as if they were new.")
    ] = False,
    reason: ReasonOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take the connectors of a RocketMQ Connect worker over: their configurations as ours, and where they are.

    Stop the worker first: it stores positions at its end. Its files are only read. Secrets go into the keystore. Exit codes:
    0 done, or a plan that can be carried out, 2 something is wrong, and nothing was changed.
    """
    given = {**dict.fromkeys(unset or ()), **(configuration.read(None, pairs) if pairs else {})}
    wish = Wish(connectors or (), given, not no_positions)
    theirs = read(folder, listed)
    told: list[dict[str, str]] = []
    with api(url) as client:
        plugins = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
        ours = {each["name"]: each for each in client.pages("/v1/connectors", "connectors", {"name": "", "config": {}})}
        row = {"partition": "", "offset": ""}
        both = [each.name for each in theirs if each.name in ours]
        positions = {name: list(client.pages(f"{connector_path(name)}/positions", "positions", row)) for name in both}
        steps, problems = plan(theirs, wish, plugins, ours, positions)
        if wish.positions:
            _place_sinks([step for step in steps if step.there.type == "sink"], namesrv)
        new = [step for step in steps if not step.exists]
        problems += [*clashes(new, ours), *checked(client, [step for step in new if step.is_known], told, stored=False)]
        if output is not Output.JSON:
            _show(steps, folder)
        show_warnings({"warnings": told})
        if problems:
            raise ApiError(Exit.WRONG, {"detail": "this can't be imported. Nothing was changed", "problems": problems})
        if yes:
            # Those of a connector that is here may have been given anew since.
            stored = store_secrets(client, new)
            if stored and (problems := checked(client, new, [], stored=True)):
                detail = f"this can't be imported. Only secrets were stored: {', '.join(stored)}"
                raise ApiError(Exit.WRONG, {"detail": detail, "problems": problems})
            quiet = output is Output.JSON

            def tell(line: str) -> None:
                if not quiet:
                    out.print(line, markup=False)

            carry_out(client, [step for step in steps if not step.is_paused], reason, start=start, tell=tell)
            carry_out(client, [step for step in steps if step.is_paused], reason, start=False, tell=tell)
    if output is Output.JSON:
        emit(output, {"imported": yes, "connectors": [step.document() for step in steps]}, str)
    elif not yes and steps:
        out.print("Nothing was changed: this is the plan. --yes carries it out.", markup=False)


def _place_sinks(sinks: Sequence[Step], namesrv: str) -> None:
    if not namesrv or not sinks:
        for step in sinks:
            say_where_a_sink_begins(step)
        return
    # A client of RocketMQ, which no other command needs.
    from rocketconnect_cli.imports.rocketmq_connect.groups import committed

    for step, positions in zip(sinks, committed(namesrv, [group_of(step) for step in sinks]), strict=True):
        bring_group(step, positions)


def _show(steps: Sequence[Step], folder: Path) -> None:
    out.print(f"{counted(steps, 'connector')} of RocketMQ Connect in {folder}:", markup=False)
    for step in steps:
        for line in step.lines():
            out.print(line, markup=False)
