"""What a Spark driver uses: its Java process's memory and garbage collection, and what its jobs have put aside on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.executor.contract.metrics import DriverUse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DriverGauges:
    """Asks the Java process of a session; some fifteen small calls, two milliseconds altogether. Used by one thread.

    Java's own beans are asked through the gauges that come with Spark: they need no UI, no port and no sink of metrics.

    Args:
        session: The session.
        profile: What its profile is called.
        pid: Its Java process; None: that is none of this machine.
    """

    def __init__(self, session: SparkSession, profile: str, pid: int | None) -> None:
        self._profile = profile
        self._pid = pid
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - py4j tells no types
        gauges = jvm.com.codahale.metrics.jvm
        memory, collectors = gauges.MemoryUsageGaugeSet().getMetrics(), gauges.GarbageCollectorMetricSet().getMetrics()
        self._used, self._committed, self._max = (memory.get(f"heap.{name}") for name in ("used", "committed", "max"))
        names = list(collectors.keySet())
        self._gc_milliseconds = [collectors.get(name) for name in names if name.endswith(".time")]
        self._gc_runs = [collectors.get(name) for name in names if name.endswith(".count")]
        self._spilled = _spilled(session)

    def read(self) -> DriverUse:
        """What it uses now."""
        most = self._max.getValue()
        return DriverUse(
            profile=self._profile,
            heap_used=self._used.getValue(),
            heap_committed=self._committed.getValue(),
            # Java has no limit where it says -1.
            heap_max=most if most > 0 else None,
            resident=_resident(self._pid),
            gc_seconds=sum(each.getValue() for each in self._gc_milliseconds) / 1000,
            gc_runs=sum(each.getValue() for each in self._gc_runs),
            spilled=None if self._spilled is None else self._spilled.getCount(),
        )


def _spilled(session: SparkSession) -> Any:
    """The counter of bytes that tasks have written to disk for want of memory; None: tasks run in other processes."""
    context: Any = session.sparkContext._jsc  # noqa: SLF001 - py4j tells no types
    sources = context.sc().env().metricsSystem().getSourcesByName("executor")
    return None if sources.isEmpty() else sources.head().metricRegistry().getCounters().get("diskBytesSpilled")


def _resident(pid: int | None) -> int | None:
    """What a process has in memory; None: not known."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmRSS:")), None)
    return None if kilobytes is None else int(kilobytes) * 1024
