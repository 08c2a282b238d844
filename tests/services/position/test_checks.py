import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketconnect.position.v1 import position_service_pb2 as pb

from rocketconnect_kit.errors import InvalidArgument
from services.position import checks, wire
from services.position.domain import Fence


@given(st.lists(st.integers()), st.sampled_from([None, 1, 3]))
def test_every_array_of_integers_is_an_offset_and_has_one_form(numbers: list[int], indent: int | None) -> None:
    text = json.dumps(numbers, indent=indent)
    compact = json.dumps(numbers, separators=(",", ":"))
    expected = compact if len(text) <= checks.MAXIMUM_OFFSET else None
    assert checks.canonical_offset(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "[1",
        "[1,]",
        "[1.0]",
        "[true]",
        '["1"]',
        "[null]",
        "{}",
        "[[1]]",
        "[01]",
        "[-]",
        "none",
        "[" * 5000,
        "[" + "9" * 5000 + "]",
    ],
)
def test_anything_else_is_no_offset(text: str) -> None:
    assert checks.canonical_offset(text) is None


@given(st.text())
def test_no_text_makes_the_check_fail_otherwise(text: str) -> None:
    result = checks.canonical_offset(text)
    assert result is None or isinstance(json.loads(result), list)


def test_everything_wrong_with_a_commit_is_told_at_once() -> None:
    request = pb.CommitPositionsRequest(fence=pb.TaskFence(connector_uid="a/b", task=-1, generation=-1))
    for partition, offset, expected in (
        ("", "[1]", ""),
        ("x" * 1025, "1", ""),
        ("p", "[1]", "x"),
        ("p", "", "none"),
        ("q\0", "[2]", ""),
    ):
        each = request.updates.add(expected_offset=expected)
        each.position.partition = partition
        each.position.offset = offset
    request.updates[2].position.resume = "x" * (checks.MAXIMUM_RESUME + 1)
    with pytest.raises(InvalidArgument) as caught:
        wire.commit(request)
    assert [problem.field for problem in caught.value.problems] == [
        "fence.connector_uid",
        "fence.task",
        "fence.generation",
        "updates",
        "updates[0].position.partition",
        "updates[1].position.partition",
        "updates[1].position.offset",
        "updates[2].position.resume",
        "updates[2].expected_offset",
        "updates[3].position.offset",
        "updates[4].position.partition",
    ]


def test_offsets_are_compared_in_one_form() -> None:
    request = pb.CommitPositionsRequest(fence=pb.TaskFence(connector_uid="u", generation=1, epoch=2))
    each = request.updates.add(expected_offset="[1, 2]")
    each.position.partition = "p"
    each.position.offset = " [ 3 ] "
    fence, (update,) = wire.commit(request)
    assert fence == Fence("u", 0, 1, 2)
    assert (update.offset, update.expected) == ("[3]", "[1,2]")


def test_longest_names_that_fit_are_taken() -> None:
    assert checks.partition_problems("f", "x" * 1024) == []
    assert checks.partition_problems("f", "ü" * 1024) == []
    assert checks.partition_problems("f", "€" * 1024)[0].reason == "is 3,072 bytes long"
