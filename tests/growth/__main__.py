"""A long life in a short time: `python -m tests.growth`, or `make growth ARGS="--objects 100000"`.

Prints what the stores and this process have after each tenth, as a table for each part, and ends with 1 where something grows.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.growth.soak import soak_connectors, soak_epochs, soak_objects


def main() -> int:
    """Run all parts; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.growth", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--objects", type=int, default=1_000_000, metavar="N", help="objects that are read and removed (1,000,000)")
    parser.add_argument("--epochs", type=int, default=10_000, metavar="N", help="epochs of tasks (10,000)")
    parser.add_argument("--connectors", type=int, default=1_000, metavar="N", help="connectors that are deleted (1,000)")
    given = parser.parse_args()
    growing: list[str] = []
    for soak, count in ((soak_objects, given.objects), (soak_epochs, given.epochs), (soak_connectors, given.connectors)):
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            curve = soak(Path(folder), count)
        sys.stdout.write(f"{curve.table()}\n{time.process_time() - began:.0f} s of a processor\n\n")
        sys.stdout.flush()
        growing += [f"{curve.what}: {each}" for each in curve.growing()]
    sys.stdout.write("\n".join(["it grows:", *growing] if growing else ["flat"]) + "\n")
    return 1 if growing else 0


if __name__ == "__main__":
    sys.exit(main())
