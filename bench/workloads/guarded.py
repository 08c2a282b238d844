"""What it costs to be guarded: lines through a broker with TLS and signatures, beside the same in the clear."""

from collections.abc import Iterator

from bench import lines
from bench.measuring.guarded import guarded, in_the_clear
from bench.measuring.instance import ENGINES, TOPIC_TYPES, folder
from bench.workload import Options, Sample, Workload
from bench.workloads import files


def run(options: Options) -> Iterator[Sample]:
    """Every engine on every type of topic, on both instances in turns; the first turn, in which Java compiles, does not count."""
    rows = options.rows or files.ROWS
    with folder() as place:
        (place / "clear").mkdir()
        (place / "guarded").mkdir()
        source = place / "in.txt"
        lines.write(source, rows)
        with in_the_clear(place / "clear") as clear, guarded(place / "guarded") as behind:
            cases = {"in the clear": clear, "TLS and signatures": behind}
            for number in range(options.repeats + 1):
                for topic_type in TOPIC_TYPES:
                    for engine in ENGINES:
                        for case, each in cases.items():
                            moved = files.move(each.it, [source], rows, engine, topic_type, others=each.roots)
                            if number:
                                yield Sample(f"{engine}, {topic_type} topic, {case}", moved.figures(), moved.costs)


WORKLOAD = Workload(
    "Lines of 100 bytes, file -> topic -> file, with TLS to the broker and authentication, beside without",
    run,
    ("rows_per_s", "flowing_rows_per_s", "own_cpu_s_per_million", "cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)
