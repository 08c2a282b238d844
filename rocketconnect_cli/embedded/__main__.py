"""`python -m rocketconnect_cli.embedded`: fill the cache with RocketMQ's jars, and with what lets them start faster.

Shows the progress; does nothing else.
"""

import sys

from rich.console import Console

from rocketconnect_cli.embedded.download import show_download
from rocketconnect_cli.embedded.errors import EmbeddedRocketMQError
from rocketconnect_cli.embedded.make_class_archive import make
from rocketconnect_kit.java.errors import JavaError


def main() -> int:
    """Fill the cache; return the exit code. Silent when it is filled."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        jars = show_download(console)
        with console.status("Preparing RocketMQ, once for this machine"):
            make(jars)
    except JavaError as err:
        console.print(str(err), style="red")
        return 1
    except (OSError, EmbeddedRocketMQError) as err:
        # Everything works without it.
        console.print(f"RocketMQ could not be prepared ({err}); it starts more slowly.", style="yellow")
    except KeyboardInterrupt:
        console.print("Interrupted; run it again to go on.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
