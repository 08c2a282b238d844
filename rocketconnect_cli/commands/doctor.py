"""`rocketconnect doctor`: what is wrong with this machine, and what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.api import Exit
from rocketconnect_cli.doctor.checks import examine
from rocketconnect_cli.doctor.findings import Finding, Verdict, worst
from rocketconnect_cli.output import Output, OutputOption, emit


def doctor(
    data: Annotated[Path, typer.Option(help="The data directory that `rocketconnect up` is to have.")] = Path("rocketconnect-data"),
    rest_port: Annotated[int, typer.Option(help="Where REST is to answer; 0: any free port.", min=0, max=65535)] = 8082,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check whether this machine can run `rocketconnect up`: Python, packages, Java, port, data directory, disk, open files.

    Nothing is changed. Exit code 1 when there is a problem; warnings are none.
    """
    found = list(examine(data.absolute(), rest_port))
    verdict = worst(found)
    emit(output, {"verdict": verdict, "findings": [asdict(each) for each in found]}, lambda: list(_lines(found)))
    if verdict is Verdict.PROBLEM:
        raise typer.Exit(int(Exit.FAILED))


def _lines(found: Sequence[Finding]) -> Iterator[str]:
    for each in found:
        yield f"{each.verdict:8} {each.check}: {each.text}"
        if each.fix:
            yield f"         -> {each.fix}"
