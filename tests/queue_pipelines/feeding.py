"""A steady load, on threads of its own."""

import threading
import time
from itertools import count
from typing import Self

from tests.queue_pipelines.pipeline import Feed, Pipeline

_AGAIN_SECONDS = 0.2


class Feeding:
    """Feeds a pipeline until it is told to stop.

    Args:
        pipeline: What is fed.
        rate: So many events a second, about, while they are taken.
    """

    def __init__(self, pipeline: Pipeline, rate: float) -> None:
        self._pipeline = pipeline
        self._pause = pipeline.feeders / rate
        self._numbers = count()
        self._lock = threading.Lock()
        self._stopped, self._given_up = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._given = 0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(pipeline.feeders)]

    def __enter__(self) -> Self:
        """Begins."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Gives up what nobody takes."""
        self._stopped.set()
        self._given_up.set()

    @property
    def given(self) -> int:
        """How many events were begun: what is begun from now on has this number, or a higher one."""
        with self._lock:
            return self._given

    def stop(self) -> None:
        """Begins no other event."""
        self._stopped.set()

    def is_over(self) -> bool:
        """Whether all that was begun is done with."""
        self.check()
        return not any(thread.is_alive() for thread in self._threads)

    def check(self) -> None:
        """Raises what a feeder has raised."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with self._pipeline.feeder() as feed:
                while not self._stopped.is_set():
                    self._feed(feed)
                    time.sleep(self._pause)
        except BaseException as error:
            self._error = error

    def _feed(self, feed: Feed) -> None:
        with self._lock:
            number = next(self._numbers)
            self._given = number + 1
        while not feed(number) and not self._given_up.wait(_AGAIN_SECONDS):
            pass
