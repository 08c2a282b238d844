"""The download of jars as people see it."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rocketconnect_cli.embedded.rocketmq_jars import ROCKETMQ
from rocketconnect_kit.java.jars import JarSet, jars_of


def show_download(console: Console, wanted: JarSet = ROCKETMQ) -> Path:
    """Return the folder with these jars; show a bar while they are downloaded, and nothing when they are there.

    Raises:
        JarsUnavailable: its text says what to do.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console)
    task = progress.add_task(f"Downloading {wanted.title}")

    def show(done: int, total: int) -> None:
        if not progress.live.is_started:
            progress.start()
        progress.update(task, completed=done, total=total)

    try:
        return jars_of(wanted, show)
    finally:
        # Ended without having been started, it would print an empty line.
        if progress.live.is_started:
            progress.stop()
