import pytest

from connectors.rocketmq.identity import Found, Known, Seen

KNOWN = Known(3, Seen(10, "10"), Seen(19, "19"))


def found(low: int, end: int, *others: int) -> Found:
    """Of a queue in which the messages at these offsets are other ones."""
    return KNOWN.looked_at(low, end, lambda offset: f"{offset}" if offset not in others else "another")


@pytest.mark.parametrize("place", [(0, 20), (15, 30), (20, 20), (25, 90)])
def test_a_queue_is_the_same_while_its_last_message_is_or_has_gone_by_its_age(place: tuple[int, int]) -> None:
    assert found(*place) is Found.SAME


def test_a_queue_is_another_one_when_its_messages_are_or_are_too_few() -> None:
    assert found(0, 90, 10, 19) is Found.ANEW
    assert found(0, 15, 10) is Found.ANEW
    assert found(0, 5) is found(0, 0) is Found.ANEW


def test_a_broker_that_has_lost_its_newest_messages_is_told_from_a_topic_that_was_made_anew() -> None:
    assert found(0, 90, 19) is Found.REPLACED
    assert found(15, 90, 19) is Found.REPLACED
    # The family says that it ends before its position.
    assert found(0, 15) is found(12, 15) is Found.SAME


def test_of_what_was_never_read_nothing_is_lost() -> None:
    assert Known().looked_at(0, 9, str) is Known.of_note({"era": 2}).looked_at(0, 0, str) is Found.SAME


def test_what_is_known_is_stored_whole() -> None:
    for known in (KNOWN, Known(), Known(2), Known().read(Seen(1, "a"), Seen(2, "b"))):
        assert Known.of_note(known.note()) == known
    assert KNOWN.read(Seen(20, "20"), Seen(29, "29")) == Known(3, Seen(10, "10"), Seen(29, "29"))
    assert KNOWN.next_era() == Known(4)
