"""What the log of a connector says of the end of a run."""

import pytest

from rocketconnect_sdk.errors import PermanentError
from services.executor.contract.task import Outcome
from services.executor.runtime.errors.attempts import FENCED
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.run import _how


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


def test_a_defect_tells_where_in_the_code_it_is() -> None:
    try:
        int("missing")
    except ValueError as error:
        outcome = failed(error, clean=False)
    assert outcome.error.startswith("unexpected error, a defect")
    assert 'int("missing")' in outcome.stack
    assert failed(PermanentError("told"), clean=False).stack == ""
