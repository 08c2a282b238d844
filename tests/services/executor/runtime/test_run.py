"""What the log of a connector says of the end of a run."""

import pytest

from services.executor.runtime.attempts import FENCED
from services.executor.runtime.run import _how
from services.executor.runtime.task import Outcome


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(clean=True), "; all that it moved is committed"),
        (Outcome(clean=False, fenced=True), f": {FENCED}"),
        (Outcome(clean=False, fenced=True, error="epoch 3 is over"), ": epoch 3 is over"),
        (Outcome(clean=False), " before all that it moved was committed; who goes on finds out what was"),
    ],
)
def test_a_run_says_in_words_why_it_stopped(outcome: Outcome, said: str) -> None:
    assert _how(outcome) == said
