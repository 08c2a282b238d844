"""What each process may import: memory and start-up are mostly imports."""

import subprocess
import sys

import pytest

CONTROL_PLANE = ("config", "position", "state", "cluster", "gateway", "exporter")
DATA = {"pyspark", "pyarrow", "py4j", "pandas", "numpy", "msgspec", "rocketmq_remoting", "connectors"}
"""For moving data: it never passes through the control plane."""
WEB = {"starlette", "uvicorn", "httpx"}
MIGRATION = {"alembic", "mako"}
"""10 MiB, for tables that are older than the service."""
STORE = {"sqlalchemy", "psycopg"} | MIGRATION
SERVICE = {"grpc", "google", "pydantic", "structlog", "opentelemetry"}


def _imported(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("service", CONTROL_PLANE)
def test_a_service_of_the_control_plane_imports_nothing_that_moves_data(service: str) -> None:
    assert not _imported(f"services.{service}.server") & (DATA | MIGRATION)


@pytest.mark.parametrize("service", ["gateway", "exporter"])
def test_what_keeps_nothing_imports_no_database(service: str) -> None:
    assert not _imported(f"services.{service}.server") & STORE


@pytest.mark.parametrize("service", ["config", "position", "state", "cluster"])
def test_what_speaks_no_http_imports_no_web_server(service: str) -> None:
    assert not _imported(f"services.{service}.server") & WEB


def test_the_command_line_is_the_client_of_the_rest_api_alone() -> None:
    assert not _imported("rocketconnect_cli.commands") & (DATA | STORE | SERVICE | {"starlette", "uvicorn"})
