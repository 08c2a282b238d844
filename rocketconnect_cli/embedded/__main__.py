"""`python -m rocketconnect_cli.embedded`: fill the cache with RocketMQ's jars, showing the progress; nothing else."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rocketconnect_cli.embedded.errors import EmbeddedRocketMQError
from rocketconnect_cli.embedded.jars import ROCKETMQ_VERSION, rocketmq_jars


def main() -> int:
    """Fill the cache; return the exit code. Silent when it is filled."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console)
    task = progress.add_task(f"Downloading RocketMQ {ROCKETMQ_VERSION}")

    def show(done: int, total: int) -> None:
        if not progress.live.is_started:
            progress.start()
        progress.update(task, completed=done, total=total)

    try:
        rocketmq_jars(show)
    except EmbeddedRocketMQError as err:
        progress.stop()
        console.print(str(err), style="red")
        return 1
    except KeyboardInterrupt:
        progress.stop()
        console.print("Interrupted; run it again to go on.")
        return 130
    progress.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
