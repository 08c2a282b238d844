"""The table of `make mutations` fits the code."""

import pytest

from scripts import mutations


@pytest.mark.parametrize("mutation", mutations.read(), ids=lambda mutation: mutation.what)
def test_what_is_to_be_broken_is_there_once_and_so_are_the_tests_that_must_notice(mutation: mutations.Mutation) -> None:
    assert mutations.misplaced(mutation) == ""
    files = mutation.tests.split(" -k ")[0].split()
    assert [file for file in files if not (mutations.ROOT / file).exists()] == []
