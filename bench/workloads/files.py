"""File -> topic -> file with both engines and on both types of topic, beside what the broker alone can do."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from bench import lines
from bench.measuring.copying import Copied, copy
from bench.measuring.instance import ENGINES, TOPIC_TYPES, Instance, instance, settle, sink_config, source_config
from bench.raw import RawLimit, raw_limit
from bench.workload import Options, Sample, Workload

ROWS = 1_000_000
BATCH_ROWS = 10_000
"""So many records a source sends at once by default (batch.records)."""
BATCH_BYTES = 1 << 20
_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """Every engine on every type of topic, in turns, each turn beside the limits of the broker in it."""
    rows = options.rows or ROWS
    with instance() as it:
        source = it.folder / "in.txt"
        lines.write(source, rows)
        for _ in range(options.repeats):
            for topic_type in TOPIC_TYPES:
                limit = raw(it, topic_type, rows)
                yield Sample(f"the broker alone, {topic_type} topic", raw_figures(limit))
                for engine in ENGINES:
                    moved = move(it, [source], rows, engine, topic_type)
                    yield Sample(f"{engine}, {topic_type} topic", {**moved.figures(), **of_limit(moved, limit)}, moved.costs)


def of_limit(copied: Copied, limit: RawLimit) -> Mapping[str, float]:
    """How much of what the broker alone does, over the whole time and while rows flow."""
    figures = copied.figures()
    named = {"rows_per_s": "of_raw_limit", "flowing_rows_per_s": "flowing_of_raw_limit"}
    return {name: figures[figure] / limit.pulled_per_second for figure, name in named.items() if figure in figures}


def raw(it: Instance, topic_type: str, rows: int, width: int = lines.WIDTH, queues: int = 1) -> RawLimit:
    """What the broker alone does with as many messages in the shape of the pipeline: a batch under way for each queue."""
    it.settle()
    batch = max(1, min(BATCH_ROWS, BATCH_BYTES // width))
    return raw_limit(it.name_server, messages=rows, size=width, topic_type=topic_type, queues=queues, batch_messages=batch)


def raw_figures(limit: RawLimit) -> Mapping[str, float]:
    """Of sending and pulling at once, to the last message pulled."""
    return {
        "rows_per_s": limit.pulled_per_second,
        "sent_rows_per_s": limit.sent_per_second,
        "flowing_mb_per_s": limit.pulled_per_second * limit.size / 1e6,
        "own_cpu_s_per_million": limit.sender_cpu_us + limit.puller_cpu_us,
    }


def move(
    it: Instance,
    sources: Sequence[Path],
    rows: int,
    engine: str,
    topic_type: str = "normal",
    queues: int = 1,
    tasks: int = 1,
    spark: Mapping[str, str] | None = None,
    others: Collection[int] = (),
) -> Copied:
    """Moves files through a topic of its own to one file, and checks it.

    Several sources must be all the `*.txt` of one folder; they are given to so many tasks. `spark` is put into the configuration of
    the sink; `others` are processes beside the instance that work for it.

    Raises:
        BenchFailed: the output is not the input, in its order.
    """
    number = next(_runs)
    topic, sink = f"bench{number}", it.folder / f"out{number}.txt"
    names = f"sink{number}", f"source{number}"
    read = sources[0] if len(sources) == 1 else sources[0].parent / "*.txt"
    config = source_config(read, topic, topic_type, queues) | {"max.tasks": str(tasks)}
    it.create_running(names[0], sink_config(engine, sink, topic, topic_type, queues) | dict(spark or {}))
    roots = [it.root, *others]
    settle(roots)
    copied = copy(lambda: it.create(names[1], config), sources, sink, rows, roots, it.states)
    it.delete(*names)
    return copied


WORKLOAD = Workload(
    "Lines of 100 bytes, file -> topic -> file",
    run,
    ("rows_per_s", "flowing_rows_per_s", "own_cpu_s_per_million", "cpu_s_per_million", "own_peak_mib", "of_raw_limit"),
    ("rows_per_s",),
    usual=False,
)
