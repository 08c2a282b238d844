"""A connector beside the client of its system, each of them measured in a process of its own."""

import gc
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.measuring.costs import Meter, held
from bench.systems.moved import Content, Took, wanted
from bench.workload import BenchFailed

Move = Callable[[], Iterable[str | bytes]]
"""Moves all records, and returns those that a source has given; of a sink nothing."""
_PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class Compared:
    """A connector and the client of its system, which do the same.

    Attributes:
        name: The connector.
        client: The library.
        ours: Connects the connector, and gives what moves all records by the engine of its family.
        alone: The same of the client alone, in batches as it wants to have them.
        found: Of a sink: all values that are at the target. None: what is moved comes from there.
        clear: Makes the target empty.
    """

    name: str
    client: str
    ours: Callable[[], AbstractContextManager[Move]]
    alone: Callable[[], AbstractContextManager[Move]]
    found: Callable[[], Iterable[str | bytes]] | None = None
    clear: Callable[[], None] = lambda: None


def took(compared: Compared, side: Callable[[], AbstractContextManager[Move]], records: int) -> Took:
    """What one of both sides takes for so many records.

    Raises:
        BenchFailed: the process ended with an error, which is on standard error, or what came is not what was to come.
    """
    compared.clear()
    fork = multiprocessing.get_context("fork")
    reading, writing = fork.Pipe(duplex=False)
    child = fork.Process(target=_measure, args=(side, records, writing))
    child.start()
    writing.close()
    try:
        answer = reading.recv() if reading.poll(_PATIENCE) else None
    except EOFError:
        answer = None
    finally:
        if answer is None:
            child.kill()
        child.join()
    if answer is None:
        msg = f"{compared.name}: no end within {_PATIENCE:g} s, or an error"
        raise BenchFailed(msg)
    found: Took
    found, content = answer
    if compared.found is not None:
        content = Content.of(compared.found())
    if content != wanted(records):
        msg = f"{compared.name}: {content.count} records are there of {records}, or others"
        raise BenchFailed(msg)
    return found


def _measure(side: Callable[[], AbstractContextManager[Move]], records: int, told: Connection) -> None:
    try:
        with side() as move:
            # What is there already is no part of it: neither its memory nor that Python looks for cycles in it.
            gc.collect()
            gc.freeze()
            before = sum(each.rss_mib for each in held([os.getpid()]).values())
            meter = Meter([os.getpid()])
            begin, cpu = time.monotonic(), time.process_time()
            values = move()
            cpu_seconds, seconds = time.process_time() - cpu, time.monotonic() - begin
            peak = sum(cost.peak_mib for cost in meter.costs())
            found = Took(records, seconds, cpu_seconds, max(0.0, peak - before))
            told.send((found, Content.of(values)))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    # Nothing that the bench holds is to be ended here: its servers go on.
    os._exit(0)
