"""Which names somebody may have meant."""

import pytest

from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("ordres", ["orders"]),
        ("Orders", ["orders"]),
        ("order", ["orders"]),
        ("paymnets-eu", ["payments-eu"]),
        ("orders", []),
        ("books", []),
        ("", []),
    ],
)
def test_a_name_is_near_that_shares_most_of_its_characters(word: str, found: list[str]) -> None:
    assert nearest(word, ["orders", "payments-eu", "o"]) == found


def test_the_nearest_are_the_first_and_at_most_three() -> None:
    assert nearest("orders-12", [f"orders-{number}" for number in range(10, 20)] + ["orders"])[:1] == ["orders-10"]
    assert len(nearest("orders-12", [f"orders-{number}" for number in range(20)])) == 3
    # What is much less like it than the nearest is not proposed beside that.
    assert nearest("orders", ["orderz", "borders-of-eu"], 0.5) == ["orderz"]


def test_the_question_names_all_of_them() -> None:
    assert did_you_mean(["a", "b"]) == "did you mean a or b?"
    assert did_you_mean([]) == ""
