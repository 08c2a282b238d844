"""Make the pictures of docs/monitoring.md again, from a run of six minutes: `python -m scripts.pictures`.

It needs what `rocketconnect up` needs, and a Prometheus on the PATH.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from rocketconnect_cli.instance import watching
from rocketconnect_cli.instance.running import running
from scripts.dashboards.__main__ import written
from scripts.pictures import scenario
from scripts.pictures.drawing import Series, draw
from scripts.pictures.shown import FOLDER, MOST_BYTES, PICTURES

_POINTS = 120


def main(words: Sequence[str]) -> int:
    """Let it run, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m scripts.pictures", description="Draws dashboards of a real run.")
    parser.add_argument("--seconds", type=float, default=360.0, help="how long it runs (360); alerts need a minute and more")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where the pictures go (docs/monitoring)")
    told = parser.parse_args(words)
    if watching.find() is None:
        print(f"There is nothing to draw: {watching.MISSING}.", file=sys.stderr)
        return 1
    told.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rocketconnect-pictures-") as made:
        folder = Path(made)
        with running(folder / "data", "--watch", drain=False) as instance:
            began = time.time()
            scenario.run(instance, folder, told.seconds)
            return drawn(instance["prometheus"], told.folder, began, time.time())


def drawn(prometheus: str, folder: Path, began: float, ended: float) -> int:
    """Draw all pictures of what a Prometheus saw between two times; 1 when one of them is too large for a page."""
    step = max(1.0, round((ended - began) / _POINTS))
    times = [number * step for number in range(int((ended - began) / step) + 1)]
    with httpx.Client(base_url=prometheus, timeout=30) as client:

        def ask(expr: str, whole: bool) -> list[Series]:
            if not whole:
                found = _result(client.get("/api/v1/query", params={"query": expr, "time": ended}))
                return [Series(each["metric"], [ended - began], [float(each["value"][1])]) for each in found]
            over: dict[str, str | float] = {"query": expr, "start": began, "end": began + times[-1], "step": step}
            series = []
            for each in _result(client.get("/api/v1/query_range", params=over)):
                there = {round((float(when) - began) / step): float(value) for when, value in each["values"]}
                series.append(Series(each["metric"], times, [there.get(place, math.nan) for place in range(len(times))]))
            return series

        dashboards = {name: json.loads(text) for name, text in written().items()}
        large = 0
        for picture in PICTURES:
            target = folder / f"{picture.name}.png"
            draw(picture, dashboards[f"{picture.dashboard}.json"], ask, target)
            size = target.stat().st_size
            large += size > MOST_BYTES
            print(f"{target} written, {size} bytes{', which is too large' if size > MOST_BYTES else ''}")
    return min(large, 1)


def _result(answer: httpx.Response) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]["result"]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
