"""Rate and memory as records, files, and the number of queues and tasks grow: a byte should cost the same, memory stay flat."""

from collections.abc import Iterator
from pathlib import Path

from bench import lines
from bench.measuring.instance import Instance, instance
from bench.workload import Options, Sample, Workload
from bench.workloads.files import move, raw, raw_figures

WIDTHS = (100, 1_000_000)
BYTES = 50_000_000
FILES = (20_000_000, 200_000_000)
"""Bytes; `--rows` puts another last one in, of so many lines of 100 bytes."""
QUEUES = (1, 8)
QUEUES_ROWS = 300_000


def run_records(options: Options) -> Iterator[Sample]:
    """The same bytes in ever larger records, natively, on a batch topic, each beside what the broker alone does."""
    with instance() as it:
        for width in WIDTHS:
            rows = max(1, (options.rows or BYTES // 100) * 100 // width)
            source = _written(it, f"{width}.txt", rows, width)
            for _ in range(options.repeats):
                limit = raw(it, "batch", rows, width)
                yield Sample("the broker alone, batch topic", raw_figures(limit), size=width)
                moved = move(it, [source], rows, "native", "batch")
                yield Sample("native, batch topic", moved.figures(), moved.costs, width)
            source.unlink()


def run_growth(options: Options) -> Iterator[Sample]:
    """Ever larger files of lines of 100 bytes, natively, on a batch topic."""
    last = (options.rows * (lines.WIDTH + 1),) if options.rows else FILES[-1:]
    with instance() as it:
        for size in FILES[:-1] + last:
            rows = size // (lines.WIDTH + 1)
            source = _written(it, f"{size}.txt", rows)
            for _ in range(options.repeats):
                moved = move(it, [source], rows, "native", "batch")
                yield Sample("native, batch topic", moved.figures(), moved.costs, moved.size)
            source.unlink()


def run_queues(options: Options) -> Iterator[Sample]:
    """The same lines in one to eight files, each read by a task of its own, over as many queues to one file."""
    rows = options.rows or QUEUES_ROWS
    with instance() as it:
        for queues in QUEUES:
            folder = it.folder / f"{queues}"
            folder.mkdir()
            share = rows // queues
            sources = [folder / f"{number}.txt" for number in range(queues)]
            for number, source in enumerate(sources):
                lines.write(source, share, first=number * share)
            for _ in range(options.repeats):
                moved = move(it, sources, share * queues, "native", queues=queues, tasks=queues)
                yield Sample("native, normal topic", moved.figures(), moved.costs, queues)


def _written(it: Instance, name: str, rows: int, width: int = lines.WIDTH) -> Path:
    path = it.folder / name
    lines.write(path, rows, width)
    return path


_SHOWN = ("rows_per_s", "mb_per_s", "flowing_mb_per_s", "own_cpu_s_per_million", "own_peak_mib", "peak_mib")
_PLOTTED = ("flowing_mb_per_s", "own_peak_mib")
RECORDS = Workload(
    "The same bytes in records of 100 bytes to 1 MB, file -> topic -> file", run_records, _SHOWN, _PLOTTED, "bytes a record"
)
GROWTH = Workload(
    "Ever larger files of lines of 100 bytes, file -> topic -> file", run_growth, _SHOWN, _PLOTTED, "bytes of the file"
)
QUEUE_COUNTS = Workload(
    "The same lines of 100 bytes from 1 to 8 files over as many queues and tasks", run_queues, _SHOWN, _PLOTTED, "queues"
)
