"""What of a suite of tests is tried each time, where a connector has several targets or forms."""

import functools
from collections.abc import Callable
from typing import TypeVar

import pytest

from rocketconnect_sdk.conformance import SinkCase, SinkSuite

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


class FewerKills(SinkSuite):
    """A suite whose test of kills has some tens of steps: every fifth is tried each time."""

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are some tens of steps."""
        super().test_killed_at_any_step_it_goes_on_with_every_record(case)

    def test_killed_at_every_fifth_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        self.killed_at_steps(case, 5)


def _own(test: Callable[..., None]) -> Callable[..., None]:
    """A test of its own for this suite: a mark stays with the function, which others have, too."""

    @functools.wraps(test)
    def same(*args: object, **kwargs: object) -> None:
        test(*args, **kwargs)

    return same
