"""A schema registry for the converters that need one."""

from collections.abc import Iterator

import pytest

from tests.registry.server import TestRegistry, running


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        yield found
