"""Servers."""

from collections.abc import Iterator

import pytest

from tests.servers.files.ftp import Ftp


@pytest.fixture(scope="session")
def ftp_server() -> Iterator[Ftp]:
    """One of FTP, without TLS."""
    with Ftp().running() as server:
        yield server
