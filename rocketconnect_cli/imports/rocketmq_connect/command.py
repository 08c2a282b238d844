"""`rocketconnect import rocketmq-connect`: what a worker of RocketMQ Connect has stored becomes connectors of this instance."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.imports.carrying import carry_out
from rocketconnect_cli.imports.plan import Wish
from rocketconnect_cli.imports.rocketmq_connect.plan import Step, bring_group, group_of, plan, say_where_a_sink_begins
from rocketconnect_cli.imports.rocketmq_connect.stores import read
from rocketconnect_cli.imports.taking import NamesArgument, PairsOption, UnsetOption, YesOption, changes, here, take_over
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, with_api
from rocketconnect_cli.signed import ReasonOption
from rocketconnect_sdk.wording.counts import counted


@with_api
def rocketmq_connect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The storePathRootDir of a worker that is stopped, or a copy.")],
    connectors: NamesArgument = None,
    yes: YesOption = False,
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
    pairs: PairsOption = None,
    unset: UnsetOption = None,
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
    wish = Wish(connectors or (), changes(pairs, unset), not no_positions)
    theirs = read(folder, listed)
    with api(url) as client:
        ours = here(client, [each.name for each in theirs])
        steps, problems = plan(theirs, wish, *ours)
        if wish.positions:
            _place_sinks([step for step in steps if step.there.type == "sink"], namesrv)

        def done(tell: Callable[[str], None]) -> None:
            carry_out(client, [step for step in steps if not step.is_paused], reason, start=start, tell=tell)
            carry_out(client, [step for step in steps if step.is_paused], reason, start=False, tell=tell)

        offered = [step for step in steps if step.is_known and not step.exists]
        heading = f"{counted(steps, 'connector')} of RocketMQ Connect in {folder}:"
        take_over(client, steps, offered, ours, problems, heading, output, done if yes else None)


def _place_sinks(sinks: Sequence[Step], namesrv: str) -> None:
    if not namesrv or not sinks:
        for step in sinks:
            say_where_a_sink_begins(step)
        return
    # A client of RocketMQ, which no other command needs.
    from rocketconnect_cli.imports.rocketmq_connect.groups import committed

    for step, positions in zip(sinks, committed(namesrv, [group_of(step) for step in sinks]), strict=True):
        bring_group(step, positions)
