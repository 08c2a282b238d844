"""What is said of a machine."""

import pytest

from rocketconnect_cli.doctor import findings
from rocketconnect_cli.doctor.findings import Finding, Verdict, worst

GIB = 1 << 30


@pytest.mark.parametrize(("version", "verdict"), [((3, 10), "problem"), ((3, 11), "ok"), ((3, 12), "ok"), ((3, 13), "warning")])
def test_python(version: tuple[int, int], verdict: str) -> None:
    assert findings.of_python(version).verdict == verdict


def test_packages_that_are_missing_or_too_old_are_problems() -> None:
    needed = [
        "grpcio>=1.80; extra == 'service'",
        "psycopg[binary]>=3.2; extra == 'store'",
        "SQLAlchemy>=2.0.40",
        "plain",
        "rich<15,>=14",
    ]
    least = findings.minimums(needed)
    assert least == {"grpcio": (1, 80), "psycopg": (3, 2), "sqlalchemy": (2, 0, 40), "rich": (14,)}
    (fine,) = findings.of_packages({"grpcio": "1.80.0", "sqlalchemy": "2.1rc1"}, least, "install it")
    assert (fine.verdict, fine.text) == ("ok", "grpcio 1.80.0, sqlalchemy 2.1rc1")
    missing, old = findings.of_packages({"grpcio": "1.9", "pyspark": None, "sqlalchemy": "2.0.40"}, least, "install it")
    assert (missing.verdict, missing.text) == ("problem", "missing: pyspark")
    assert (old.verdict, old.text) == ("problem", "too old: grpcio 1.9 (needed: 1.80)")
    assert all("install it" in each.fix for each in (missing, old))


@pytest.mark.parametrize(("free", "ours", "verdict"), [(True, False, "ok"), (False, True, "ok"), (False, False, "problem")])
def test_a_port_is_free_or_ours(free: bool, ours: bool, verdict: str) -> None:
    assert findings.of_port(8082, free=free, ours=ours).verdict == verdict


@pytest.mark.parametrize(
    ("total", "free", "verdict"),
    [(100, 50, "ok"), (100, 25, "warning"), (100, 10, "problem"), (8, 4, "warning"), (2, 0.9, "problem"), (0, 0, "problem")],
)
def test_a_disk_has_enough_room_and_is_not_so_full_that_rocketmq_stops(total: int, free: float, verdict: str) -> None:
    found = findings.of_disk("/data", total * GIB, int(free * GIB))
    assert found.verdict == verdict
    assert bool(found.fix) is (verdict != "ok")


@pytest.mark.parametrize(
    ("soft", "hard", "verdict", "fix"),
    [
        (-1, -1, "ok", ""),
        (4096, 4096, "ok", ""),
        (1024, 524288, "warning", "ulimit -n 65536"),
        (1024, 8192, "warning", "ulimit -n 8192"),
        (1024, 1024, "warning", "limits.conf"),
        (128, -1, "problem", "ulimit -n 65536"),
    ],
)
def test_a_process_may_open_enough_files(soft: int, hard: int, verdict: str, fix: str) -> None:
    found = findings.of_open_files(soft, hard)
    assert found.verdict == verdict
    assert fix in found.fix


def test_the_worst_verdict_is_that_of_all() -> None:
    ok, warning, problem = (Finding("x", verdict, "") for verdict in Verdict)
    assert (worst([]), worst([ok]), worst([warning, ok]), worst([ok, problem, warning])) == ("ok", "ok", "warning", "problem")
