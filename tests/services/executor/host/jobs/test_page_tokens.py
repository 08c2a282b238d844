"""Where a comparison goes on is said by an answer, and by nobody else."""

import pytest

from services.executor.host.jobs.verification import VerificationRejected, _Place


@pytest.mark.parametrize("token", ["{", "5", "null", "[1, [2]]", '["public.orders"]', '["public.orders", 5]', "[" * 100_000])
def test_a_page_token_that_no_answer_had_is_refused(token: str) -> None:
    with pytest.raises(VerificationRejected) as refused:
        _Place.of(token)
    assert (refused.value.problem.key, refused.value.problem.reason) == ("page_token", "is none that an answer had")


def test_a_page_token_of_an_answer_is_taken() -> None:
    for place in (_Place(), _Place("public.orders", [1, "a"])):
        assert _Place.of(place.token if place.table else "") == place
