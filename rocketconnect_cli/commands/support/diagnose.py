"""The command `rocketconnect diagnose`: one file for whoever looks for a fault."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.commands.backup import DATA, DataOption, StoreOption, StoreUrlOption
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, emit, err, reached, with_api
from rocketconnect_sdk.wording.counts import counted


@with_api
def diagnose(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The ZIP that is made. Default: a name with the time.")
    ] = None,
    data: DataOption = DATA,
    connector: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Logs and positions of this connector alone; again for more.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]HOST:PORT", help="Where metrics of a service are; those of `up` are known. Again for more."),
    ] = None,
    log: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A log besides those of `up`; again for more.")] = None,
    namesrv: Annotated[str, typer.Option(help="RocketMQ's name servers (HOST:PORT, several with ;); that of `up` is known.")] = "",
    store_url: StoreUrlOption = "",
    store: StoreOption = None,
    timeout: Annotated[float, durations.option("How long all of it may take.", least=1, default="2m")] = 120.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Take the place of a FILE that is there.")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make one file for a report of a fault: versions, health, settings, connectors, logs, metrics, stacks; no secrets.

    It asks what it reaches, changes nothing, and says in its summary.md what could not be asked, and why.
    """
    from rocketconnect_cli.diagnosis.bundle import Bundle, check_place
    from rocketconnect_cli.diagnosis.collecting import DiagnoseSettings, collect

    deadline = time.monotonic() + timeout
    made = file or Path(f"rocketconnect-diagnosis-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    check_place(made, over=overwrite)
    asked, access = reached(url)
    wanted = DiagnoseSettings(
        asked, access, data.absolute(), connector or [], metrics or [], log or [], namesrv, store_url, store or []
    )
    bundle = Bundle(deadline)
    collect(bundle, wanted, lambda line: err.print(f"{line} ...", style="dim", markup=False))
    size = bundle.save(made, over=overwrite)
    missing = [{"what": what, "why": why} for what, why in bundle.missing]
    document = {"file": str(made), "bytes": size, "files": len(bundle.files), "seen": bundle.seen, "missing": missing}
    emit(output, document, lambda: [*_lines(made, size, bundle.seen, bundle.missing)])


def _lines(file: Path, size: int, seen: list[str], missing: list[tuple[str, str]]) -> list[str]:
    lines = [f"{file}: {size / 1024:.0f} KiB. Read its summary.md before you send it."]
    lines += [f"  look at: {line}" for line in seen[:10]]
    if missing:
        lines.append(
            f"  {counted(missing, 'thing')} could not be asked: {', '.join(dict.fromkeys(what for what, _ in missing[:10]))}"
        )
    return lines
