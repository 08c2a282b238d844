"""What it costs to trace: lines through an instance that sends spans, beside the same without."""

from collections.abc import Iterator, Mapping

from bench import lines
from bench.measuring.copying import Copied
from bench.measuring.instance import ENGINES, TOPIC_TYPES, folder, instance
from bench.measuring.traced import traced
from bench.workload import BenchFailed, Options, Sample, Workload
from bench.workloads import files

_OFF, _ON = "off", "on"


def run(options: Options) -> Iterator[Sample]:
    """Every engine on every type of topic, on both instances in turns; the first turn, in which Java compiles, does not count."""
    rows = options.rows or files.ROWS
    with folder() as place, instance() as plain, traced() as (telling, collector):
        source = place / "in.txt"
        lines.write(source, rows)
        cases = {_OFF: plain, _ON: telling}
        for number in range(options.repeats + 1):
            for topic_type in TOPIC_TYPES:
                for engine in ENGINES:
                    came = collector.spans
                    # Whoever is first in a turn is second in the next one.
                    names = (_OFF, _ON) if number % 2 else (_ON, _OFF)
                    moved = {name: files.move(cases[name], [source], rows, engine, topic_type) for name in names}
                    if collector.spans == came:
                        msg = "no span came, so tracing was not on"
                        raise BenchFailed(msg)
                    if number:
                        yield from _samples(f"{engine}, {topic_type} topic", moved)


def _samples(case: str, moved: Mapping[str, Copied]) -> Iterator[Sample]:
    off, on = (moved[name].figures() for name in (_OFF, _ON))
    yield Sample(f"{case}, {_OFF}", off, moved[_OFF].costs)
    named = {"rows_per_s": "times_off", "cpu_s_per_million": "cpu_times_off"}
    yield Sample(f"{case}, {_ON}", {**on, **{name: on[figure] / off[figure] for figure, name in named.items()}}, moved[_ON].costs)


WORKLOAD = Workload(
    "Lines of 100 bytes, file -> topic -> file, with traces of calls and of a record a second, beside without",
    run,
    ("rows_per_s", "times_off", "cpu_s_per_million", "cpu_times_off", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
