"""Runs a demo: `python -m demo`, or `python -m demo lake`."""

import argparse
import sys
from collections.abc import Sequence

from demo import files, lake
from demo.pipelines import DemoFailed, console
from rocketconnect_cli.api import ApiError
from rocketconnect_cli.instance.running import InstanceFailed

DEMOS = {"files": files.run, "lake": lake.run}


def main(words: Sequence[str]) -> int:
    """Runs what the words say; 0 when every row is there once and unchanged."""
    parser = argparse.ArgumentParser(
        prog="python -m demo", description="Moves 336,776 real rows through RocketMQ and checks every one."
    )
    parser.add_argument("demo", nargs="?", choices=DEMOS, default="files", help="into files (the default) or into a lake")
    name = parser.parse_args(words).demo
    try:
        return DEMOS[name]()
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped. Run it again at any time.")
        return 130
    except (DemoFailed, InstanceFailed, ApiError, FileNotFoundError) as error:
        console.print(f"The demo failed: {error}", style="red", markup=False)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
