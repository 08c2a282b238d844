"""The order of the tests: files that start whole systems first, then those with servers, then the others.

Side by side (pytest-xdist gives each worker a file at a time, in this order) what mostly waits is begun first, so that no worker is
left with it alone at the end.
"""

import pytest

# What has none of these marks comes last.
_FIRST = ("e2e", "spark", "mariadb", "postgres", "rocketmq")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files in order, alike in all workers; within a file the order stays."""
    ranks: dict[str, int] = {}
    for item in items:
        rank = next((number for number, mark in enumerate(_FIRST) if item.get_closest_marker(mark)), len(_FIRST))
        ranks[_file(item)] = min(rank, ranks.get(_file(item), rank))
    items.sort(key=lambda item: ranks[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
