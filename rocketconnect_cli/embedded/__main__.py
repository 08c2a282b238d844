"""`python -m rocketconnect_cli.embedded`: fill the cache with RocketMQ's jars, showing the progress; nothing else."""

import sys

from rich.console import Console

from rocketconnect_cli.embedded.download import show_download
from rocketconnect_kit.java.errors import JavaError


def main() -> int:
    """Fill the cache; return the exit code. Silent when it is filled."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        show_download(console)
    except JavaError as err:
        console.print(str(err), style="red")
        return 1
    except KeyboardInterrupt:
        console.print("Interrupted; run it again to go on.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
