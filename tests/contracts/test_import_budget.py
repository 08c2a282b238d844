"""What each process may import: memory and start-up are mostly imports."""

import subprocess
import sys
from functools import cache

import pytest

CONTROL_PLANE = ("config", "position", "state", "cluster", "gateway", "exporter")
DATA = {"pyspark", "pyarrow", "py4j", "pandas", "numpy", "msgspec", "rocketmq_remoting", "connectors"}
"""For moving data: it never passes through the control plane."""
WEB = {"starlette", "uvicorn", "httpx"}
MIGRATION = {"alembic", "mako"}
"""10 MiB, for tables that are older than the service: in a process of its own."""
DISPENSABLE = {"pydantic", "pydantic_core", "structlog", "rich", "pygments", "tenacity", "opentelemetry"}
"""What a service does without unless it is asked for: up to 10 MiB each."""
STORE = {"sqlalchemy", "psycopg"} | MIGRATION
SERVICE = {"grpc", "google"}


def _imported(module: str) -> set[str]:
    return {name.split(".")[0] for name in _modules(module)}


@cache
def _modules(module: str) -> frozenset[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    return frozenset(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("service", CONTROL_PLANE)
def test_a_service_of_the_control_plane_imports_nothing_that_moves_data(service: str) -> None:
    assert not _imported(f"services.{service}.server") & (DATA | MIGRATION)


@pytest.mark.parametrize("service", [*CONTROL_PLANE, "executor"])
def test_no_service_holds_what_it_can_do_without(service: str) -> None:
    assert not _imported(f"services.{service}.server") & DISPENSABLE


@pytest.mark.parametrize("service", ["config", "position", "state", "cluster"])
def test_a_service_loads_no_database_before_it_knows_which(service: str) -> None:
    modules = _modules(f"services.{service}.server")
    assert not modules & {"psycopg", "sqlite3", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite"}


@pytest.mark.parametrize("service", ["gateway", "exporter"])
def test_what_keeps_nothing_imports_no_database(service: str) -> None:
    assert not _imported(f"services.{service}.server") & STORE


@pytest.mark.parametrize("service", ["config", "position", "state", "cluster"])
def test_what_speaks_no_http_imports_no_web_server(service: str) -> None:
    assert not _imported(f"services.{service}.server") & WEB


def test_the_command_line_is_the_client_of_the_rest_api_alone() -> None:
    assert not _imported("rocketconnect_cli.commands.root") & (DATA | STORE | SERVICE | {"pydantic"} | {"starlette", "uvicorn"})


def test_the_format_for_spark_needs_nothing_that_a_service_does() -> None:
    imported = _imported("pyspark_rocketmq.readers, pyspark_rocketmq.writers")
    assert not imported & (STORE | SERVICE | WEB | DISPENSABLE | {"duckdb", "sqlglot", "cryptography"})
