"""`rocketconnect import`: connectors of other systems become connectors of this one."""

from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.documents import configuration
from rocketconnect_cli.imports.carrying import carry_out
from rocketconnect_cli.imports.plan import Wish, plan
from rocketconnect_cli.imports.taking import NamesArgument, PairsOption, UnsetOption, YesOption, changes, here, take_over
from rocketconnect_cli.imports.worker import Worker
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, with_api
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
    connectors: NamesArgument = None,
    yes: YesOption = False,
    start: Annotated[
        bool, typer.Option("--start", help="Want them RUNNING when they are here. Default: STOPPED, to be looked at.")
    ] = False,
    pairs: PairsOption = None,
    unset: UnsetOption = None,
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
    of_worker = configuration.read(worker_config, ()) if worker_config else {}
    wish = Wish(connectors or (), changes(pairs, unset), not no_positions, of_worker)
    with Worker(worker) as asked:
        version = asked.version()
        theirs, place = list(asked.connectors(version, wish.names, offsets=wish.positions)), asked.url
    with api(url) as client:
        ours = here(client, [each.name for each in theirs])
        steps, problems = plan(theirs, wish, place, version, *ours)
        classes = {each["name"] for each in ours.plugins}
        offered = [step for step in steps if step.there.class_name in classes and not step.exists]
        heading = f"{counted(steps, 'connector')} of Kafka Connect {version} at {place}:"
        done = (lambda tell: carry_out(client, steps, reason, start=start, tell=tell)) if yes else None
        take_over(client, steps, offered, ours, problems, heading, output, done)
