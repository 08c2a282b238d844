from collections.abc import Iterator
from itertools import count

import pytest

from tests.servers import s3

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[s3.S3]:
    with s3.running() as found:
        yield found


@pytest.fixture
def bucket(server: s3.S3) -> str:
    name = f"orders-{next(_numbers)}"
    server.make(name)
    return name
