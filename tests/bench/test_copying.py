"""The figures of a copy."""

from bench.measuring.copying import Copied
from bench.measuring.costs import Cost

COSTS = [Cost("broker", 4.0, 1000.0), Cost("executor host", 2.0, 100.0)]


def test_the_rate_counts_from_the_beginning_and_the_flow_from_the_first_bytes() -> None:
    figures = Copied(1_000_000, 100_000_000, 5.0, 1.0, 20_000_000, COSTS).figures()
    assert figures["rows_per_s"] == 200_000
    assert figures["flowing_rows_per_s"] == 200_000
    assert figures["flowing_mb_per_s"] == 20.0
    assert figures["mb_per_s"] == 20.0


def test_what_came_mostly_at_once_has_no_flow() -> None:
    assert "flowing_rows_per_s" not in Copied(1_000, 100_000, 5.0, 4.9, 60_000, COSTS).figures()


def test_own_costs_leave_the_broker_out() -> None:
    figures = Copied(500_000, 1, 1.0, 1.0, 1, COSTS).figures()
    assert (figures["cpu_s_per_million"], figures["own_cpu_s_per_million"]) == (12.0, 4.0)
    assert (figures["peak_mib"], figures["own_peak_mib"]) == (1100.0, 100.0)
