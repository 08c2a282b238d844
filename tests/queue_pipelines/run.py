"""One run: records flow, one after the other is killed, the load ends, all comes through, contents are compared."""

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.queue_pipelines.arena import Arena
from tests.queue_pipelines.events import KEYS
from tests.queue_pipelines.feeding import Feeding
from tests.queue_pipelines.pipeline import Pipeline

_RATE = 40.0
_PAUSE_SECONDS = 2.0
_SETTLE_SECONDS = 3.0
_SEED = 11


def run(pipeline: Pipeline, folder: Path, tell: Callable[[str], object]) -> None:
    """See the module. Progress goes to `tell`.

    Args:
        pipeline: What runs; all of it is started here.
        folder: For what the instance keeps.
        tell: Takes lines for people.

    Raises:
        Difference: what has arrived is not what was promised.
        TimeoutError: it hangs.
    """
    began = time.monotonic()

    def said(text: str) -> None:
        tell(f"{time.monotonic() - began:.0f} s: {text}")

    chance = Random(_SEED)
    with Arena.running(pipeline, folder, chance) as arena, Feeding(pipeline, _RATE) as feeding:

        def arrives() -> None:
            """Returns when something of each key has arrived that was begun after the call."""
            mark = feeding.given

            def have_arrived() -> bool:
                feeding.check()
                given = mark + KEYS
                return feeding.given > given and set(range(mark, given)) & pipeline.due(given) <= pipeline.arrived()

            arena.until(have_arrived, f"the events from {mark} on have arrived")

        said("everything runs")
        arrives()
        for victim in pipeline.kills:
            if victim not in pipeline.at_rest:
                arena.spend(chance.uniform(0, _PAUSE_SECONDS))
            said(f"{feeding.given} events; killing {victim}")
            arena.kill(victim)
            arrives()
        feeding.stop()
        arena.until(feeding.is_over, "the load has ended")
        given = feeding.given
        said(f"{given} events were given")
        arena.until(lambda: pipeline.due(given) <= pipeline.arrived(), f"all of {given} events are there")
        # Time in which something might come again.
        arena.spend(_SETTLE_SECONDS)
        arena.until(arena.is_idle, "nobody has anything to do")
        said(pipeline.compare(given))
