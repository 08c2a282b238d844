"""What of a suite of tests is tried each time, where a connector has several targets or forms."""

import functools
from collections.abc import Callable
from typing import TypeVar

import pytest

Suite = TypeVar("Suite")


def slow_but(*fast: str) -> Callable[[type[Suite]], type[Suite]]:
    """Have all tests of a suite be slow but these: what they show of this target is shown by no other one.

    Raises:
        AttributeError: The suite has no such test.
    """

    def marked(suite: type[Suite]) -> type[Suite]:
        for name in fast:
            getattr(suite, name)
        for name in dir(suite):
            if name.startswith("test_") and name not in fast:
                setattr(suite, name, pytest.mark.slow(_own(getattr(suite, name))))
        return suite

    return marked


def _own(test: Callable[..., None]) -> Callable[..., None]:
    """A test of its own for this suite: a mark stays with the function, which others have, too."""

    @functools.wraps(test)
    def same(*args: object, **kwargs: object) -> None:
        test(*args, **kwargs)

    return same
