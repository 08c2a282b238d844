"""The download of RocketMQ's jars as people see it."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rocketconnect_cli.embedded.jars import ROCKETMQ_VERSION, rocketmq_jars


def show_download(console: Console) -> Path:
    """Return the folder with RocketMQ's jars; show a bar while they are downloaded, and nothing when they are there.

    Raises:
        JarsUnavailable: its text says what to do.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console)
    task = progress.add_task(f"Downloading RocketMQ {ROCKETMQ_VERSION}")

    def show(done: int, total: int) -> None:
        if not progress.live.is_started:
            progress.start()
        progress.update(task, completed=done, total=total)

    try:
        return rocketmq_jars(show)
    finally:
        # Ended without having been started, it would print an empty line.
        if progress.live.is_started:
            progress.stop()
