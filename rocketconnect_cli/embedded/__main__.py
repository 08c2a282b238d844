"""`python -m rocketconnect_cli.embedded`: fill the cache with RocketMQ's jars, showing the progress; nothing else."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rocketconnect_cli.embedded.errors import EmbeddedRocketMQError
from rocketconnect_cli.embedded.jars import ROCKETMQ_VERSION, rocketmq_jars
from rocketconnect_cli.embedded.java import find_java


def main() -> int:
    """Check for Java, fill the cache, and say where both are; return the exit code."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        java = find_java()
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(f"Downloading RocketMQ {ROCKETMQ_VERSION}", total=None, visible=False)
            jars = rocketmq_jars(lambda done, total: progress.update(task, completed=done, total=total, visible=True))
    except EmbeddedRocketMQError as err:
        console.print(str(err), style="red")
        return 1
    console.print(f"Java: {java}\nRocketMQ {ROCKETMQ_VERSION}: {jars}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
