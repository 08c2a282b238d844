"""The same file with Kafka Connect's FileStream pair on Kafka and with RocketConnect, side by side in one run."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from bench import lines
from bench.measuring.copying import Copied, copy
from bench.measuring.instance import ENGINES, TOPIC_TYPES, folder, instance, settle
from bench.peers.kafka import KafkaConnect, kafka_connect, sink_config, source_config
from bench.workload import Options, Sample, Workload
from bench.workloads.files import ROWS, move, of_limit, raw, raw_figures

CASES = tuple(itertools.product(ENGINES, TOPIC_TYPES))
_runs = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """In turns. All run all the time; what is not measured is at rest."""
    rows = options.rows or ROWS
    with folder() as place, kafka_connect(place) as kafka, instance() as it:
        source = place / "in.txt"
        lines.write(source, rows)
        # Both have moved the file once before it counts.
        _move(kafka, place, source, rows)
        move(it, [source], rows, "native")
        for _ in range(options.repeats):
            limits = {topic_type: raw(it, topic_type, rows) for topic_type in TOPIC_TYPES}
            for topic_type, limit in limits.items():
                yield Sample(f"RocketMQ's broker alone, {topic_type} topic", raw_figures(limit))
            theirs = _move(kafka, place, source, rows)
            yield Sample("Kafka Connect", theirs.figures(), theirs.costs)
            for engine, topic_type in CASES:
                ours = move(it, [source], rows, engine, topic_type)
                figures = {**ours.figures(), **_against(ours, theirs), **of_limit(ours, limits[topic_type])}
                yield Sample(f"RocketConnect, {engine}, {topic_type} topic", figures, ours.costs)


def _against(ours: Copied, theirs: Copied) -> dict[str, float]:
    """How many times as fast, over the whole time and while rows flow; above 1 is ours."""
    a, b = ours.figures(), theirs.figures()
    named = {"rows_per_s": "times_kafka_connect", "flowing_rows_per_s": "flowing_times_kafka_connect"}
    return {name: a[figure] / b[figure] for figure, name in named.items() if figure in a and figure in b}


def _move(kafka: KafkaConnect, place: Path, source: Path, rows: int) -> Copied:
    number = next(_runs)
    names = f"sink{number}", f"source{number}"
    sink, topic = place / f"out{number}.txt", f"bench{number}"
    kafka.create_running(names[0], sink_config(sink, topic))
    settle(kafka.roots)
    copied = copy(lambda: kafka.create(names[1], source_config(source, topic)), [source], sink, rows, kafka.roots)
    kafka.delete(*names)
    return copied


WORKLOAD = Workload(
    "Lines of 100 bytes, file -> topic -> file, beside Kafka Connect",
    run,
    (
        "rows_per_s",
        "flowing_rows_per_s",
        "times_kafka_connect",
        "flowing_times_kafka_connect",
        "of_raw_limit",
        "own_cpu_s_per_million",
        "cpu_s_per_million",
        "own_peak_mib",
        "peak_mib",
    ),
    ("rows_per_s", "own_cpu_s_per_million"),
)
