"""`rocketconnect import`: connectors of other systems become connectors of this one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.api import ApiError, Exit, connector_path
from rocketconnect_cli.documents import configuration
from rocketconnect_cli.imports.carrying import carry_out, checked, store_secrets
from rocketconnect_cli.imports.plan import Step, Wish, clashes, plan
from rocketconnect_cli.imports.worker import Worker
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, out, show_warnings, with_api
from rocketconnect_cli.signed import ReasonOption
from rocketconnect_sdk.wording.counts import counted

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Take connectors of other systems over, with where they are.")


@app.callback()
def _import() -> None:
    """Take connectors of other systems over, with where they are."""


@app.command(name="kafka-connect")
@with_api
def kafka_connect(
    worker: Annotated[
        str, typer.Argument(metavar="WORKER", help="The URL of the REST API of a running worker, such as http://HOST:8083.")
    ],
    connectors: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Only these connectors. Default: all of the worker.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do it. Without it the plan is printed, and nothing is changed.")
    ] = False,
    start: Annotated[
        bool, typer.Option("--start", help="Want them RUNNING when they are here. Default: STOPPED, to be looked at.")
    ] = False,
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Another value in each configuration; again for more."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Leave this key out of each configuration; again for more.")
    ] = None,
    worker_config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The worker's .properties file: its converters are taken for connectors that name none."),
    ] = None,
    no_positions: Annotated[
        bool, typer.Option("--no-positions", help="Bring no positions: sources begin as if they were new.")
    ] = False,
    reason: ReasonOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take the connectors of a Kafka Connect worker over: the same classes, their configurations, and where sources are.

    They have to be stopped or paused there first. Secrets go into the keystore. The worker is only read: delete them there when
    they run here. Exit codes: 0 done, or a plan that can be carried out, 2 something is wrong, and nothing was changed.
    """
    given = {**dict.fromkeys(unset or ()), **(configuration.read(None, pairs) if pairs else {})}
    of_worker = configuration.read(worker_config, ()) if worker_config else {}
    wish = Wish(connectors or (), given, not no_positions, of_worker)
    told: list[dict[str, str]] = []
    with Worker(worker) as asked:
        version = asked.version()
        theirs, place = list(asked.connectors(version)), asked.url
    with api(url) as client:
        plugins = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
        ours = {each["name"]: each for each in client.pages("/v1/connectors", "connectors", {"name": "", "config": {}})}
        row = {"partition": "", "offset": ""}
        both = [each.name for each in theirs if each.name in ours]
        positions = {name: list(client.pages(f"{connector_path(name)}/positions", "positions", row)) for name in both}
        steps, problems = plan(theirs, wish, place, version, plugins, ours, positions)
        offered = {each["name"] for each in plugins}
        new = [step for step in steps if step.there.class_name in offered and not step.exists]
        problems += [*clashes([step for step in steps if not step.exists], ours), *checked(client, new, told, stored=False)]
        if output is not Output.JSON:
            _show(steps, version, place)
        show_warnings({"warnings": told})
        if problems:
            raise ApiError(Exit.WRONG, {"detail": "this can't be imported. Nothing was changed", "problems": problems})
        if yes:
            stored = store_secrets(client, new)
            if stored and (problems := checked(client, new, [], stored=True)):
                detail = f"this can't be imported. Only secrets were stored: {', '.join(stored)}"
                raise ApiError(Exit.WRONG, {"detail": detail, "problems": problems})
            quiet = output is Output.JSON
            carry_out(client, steps, reason, start=start, tell=lambda line: None if quiet else out.print(line, markup=False))
    if output is Output.JSON:
        emit(output, {"imported": yes, "connectors": [step.document() for step in steps]}, str)
    elif not yes and steps:
        out.print("Nothing was changed: this is the plan. --yes carries it out.", markup=False)


def _show(steps: Sequence[Step], version: str, place: str) -> None:
    out.print(f"{counted(steps, 'connector')} of Kafka Connect {version} at {place}:", markup=False)
    for step in steps:
        for line in step.lines():
            out.print(line, markup=False)
