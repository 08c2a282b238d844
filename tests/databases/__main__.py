"""Mixed changes from one database to another while things are killed: `python -m tests.databases --changes 2000000 --seed 7`.

Exit code 1 when the tables are not equal in the end.
"""

import os
import signal
import tempfile
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from tests.databases.copying import Copying
from tests.databases.mariadb import PASSWORD_NAME, MariadbSide
from tests.databases.postgres import PostgresSide
from tests.databases.run import Failed, Plan, run
from tests.servers.mariadb import PASSWORD


class Copied(StrEnum):
    """What is copied."""

    MARIADB = "mariadb"
    POSTGRES = "postgres"


console = Console(soft_wrap=True, highlight=False, width=140)


def main(
    seed: Annotated[int, typer.Option(help="Decides what is changed, who is killed and when, but for time.")] = 7,
    changes: Annotated[int, typer.Option(help="How many changes of rows, besides the rows that are there before.")] = 100_000,
    rows: Annotated[int, typer.Option(help="How many rows are there before.")] = 20_000,
    kills: Annotated[int, typer.Option(help="How many.")] = 10,
    large: Annotated[int, typer.Option(help="Changes in each of the four large transactions.")] = 20_000,
    rate: Annotated[int, typer.Option(help="Changes a second, at most; 0: as fast as it goes.")] = 5_000,
    source: Annotated[Copied, typer.Option(help="Which is copied into the other.")] = Copied.MARIADB,
    keep: Annotated[Path | None, typer.Option(help="For logs and data; by default a temporary folder that stays.")] = None,
) -> None:
    """Fill, copy, change and kill; then wait until the tables are equal."""
    folder = keep or Path(tempfile.mkdtemp(prefix="rocketconnect-databases-"))
    folder.mkdir(parents=True, exist_ok=True)
    console.print(f"seed {seed}; everything is in {folder}")
    signal.signal(signal.SIGTERM, _interrupt)
    os.environ[PASSWORD_NAME] = PASSWORD
    sides = (MariadbSide(), PostgresSide())
    try:
        with Copying(folder, *(sides if source is Copied.MARIADB else reversed(sides))) as arena:
            run(arena, Plan(seed, rows, changes, kills, large, rate), console.print)
    except Failed as error:
        console.print(f"NOT EQUAL: {error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        console.print("stopped")
        raise typer.Exit(130) from None


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    typer.run(main)
