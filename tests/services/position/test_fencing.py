"""The rules, one by one, on ledgers in memory."""

from collections.abc import Iterator

import pytest

from rocketconnect_kit.clock import number_floor
from rocketconnect_kit.errors import Aborted, FailedPrecondition, PermissionDenied
from services.position import fencing
from services.position.domain import ConnectorRow, Fence, Ledger, Opened, Snapshot, Update
from services.position.sightings import Sightings

NEW = Ledger(ConnectorRow("c", 0, 0, carried_clean=True))


def fence(task: int, generation: int, epoch: int) -> Fence:
    return Fence("c", task, generation, epoch)


class Replica:
    """The memory of one, on a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0
        self.seen = Sightings(lambda: self.now)


@pytest.fixture(autouse=True)
def replica() -> Iterator[Replica]:
    """The one that decides, unless another is named."""
    made = Replica()
    _deciding.append(made)
    yield made
    _deciding.remove(made)


_deciding: list[Replica] = []


def opened(
    ledger: Ledger, task: int, generation: int, epoch: int, now: int = 0, deadline: int = 0, by: Replica | None = None
) -> tuple[Ledger, Opened]:
    by = by or _deciding[-1]
    by.now = now
    effects, answer = fencing.open_task(ledger, fence(task, generation, epoch), by.seen, send_deadline=deadline)
    return fencing.apply(ledger, effects), answer


def confirmed(ledger: Ledger, *fences: Fence, now: int, lease: int = 100, by: Replica | None = None) -> tuple[Ledger, list[Fence]]:
    by = by or _deciding[-1]
    by.now = now
    effects, fenced = fencing.confirm(ledger, fences, lease, by.seen)
    return fencing.apply(ledger, effects), list(fenced)


def update(partition: str, offset: str, expected: str = "", incarnation: int = 0) -> Update:
    return Update(partition, offset, incarnation, "", expected)


def committed(ledger: Ledger, by: Fence, *updates: Update, clean: bool = False) -> Ledger:
    return fencing.apply(ledger, fencing.commit(ledger, by, updates, _deciding[-1].seen, clean=clean, now=1))


def refused(ledger: Ledger, by: Fence, *updates: Update) -> str:
    with pytest.raises((FailedPrecondition, Aborted)) as caught:
        fencing.commit(ledger, by, updates, _deciding[-1].seen, clean=False, now=1)
    return caught.value.reason


def test_a_brand_new_connector_is_clean() -> None:
    _ledger, answer = opened(NEW, 0, 1, 1)
    assert answer == Opened((), clean=True, incarnation=0)


def test_after_an_open_every_older_epoch_of_the_task_is_fenced() -> None:
    ledger, _ = opened(NEW, 0, 1, 5)
    ledger, _ = opened(ledger, 0, 1, 6)
    assert refused(ledger, fence(0, 1, 5), update("p", "[1]")) == "FENCED"
    with pytest.raises(FailedPrecondition, match="epoch 6 opened it"):
        fencing.open_task(ledger, fence(0, 1, 5), _deciding[-1].seen)
    assert committed(ledger, fence(0, 1, 6), update("p", "[1]")).positions["p"].offset == "[1]"


def test_a_new_generation_fences_all_tasks_of_older_ones_whatever_their_number_and_epoch() -> None:
    ledger, _ = opened(NEW, 0, 1, 5)
    ledger, _ = opened(ledger, 1, 1, 6)
    ledger, _ = opened(ledger, 7, 2, 7)
    for old in (fence(0, 1, 5), fence(1, 1, 6), fence(1, 1, 99)):
        assert refused(ledger, old, update("p", "[1]")) == "FENCED"
        with pytest.raises(FailedPrecondition, match="generation 2"):
            fencing.open_task(ledger, old, _deciding[-1].seen)


def test_a_refusal_tells_the_newest_generation_that_was_opened() -> None:
    ledger, _ = opened(NEW, 0, 7, 5)
    with pytest.raises(FailedPrecondition) as caught:
        fencing.open_task(ledger, fence(0, 3, 6), _deciding[-1].seen)
    assert caught.value.metadata["opened_generation"] == "7"


def test_who_never_opened_can_not_commit() -> None:
    assert refused(NEW, fence(0, 1, 1), update("p", "[1]")) == "FENCED"
    ledger, _ = opened(NEW, 0, 1, 5)
    for stranger in (fence(1, 1, 6), fence(0, 1, 6), fence(0, 2, 5)):
        assert refused(ledger, stranger, update("p", "[1]")) == "FENCED"


def test_the_same_epoch_may_open_again() -> None:
    ledger, _ = opened(NEW, 0, 1, 5)
    ledger = committed(ledger, fence(0, 1, 5), update("p", "[1]"))
    ledger, answer = opened(ledger, 0, 1, 5)
    assert [position.offset for position in answer.positions] == ["[1]"]
    assert not answer.clean
    committed(ledger, fence(0, 1, 5), update("p", "[2]"))


def test_clean_is_what_the_last_owner_in_the_generation_said_last() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, answer = opened(ledger, 0, 1, 2)
    assert not answer.clean
    ledger = committed(ledger, fence(0, 1, 2), clean=True)
    ledger, answer = opened(ledger, 0, 1, 3)
    assert answer.clean
    ledger = committed(ledger, fence(0, 1, 3), clean=True)
    ledger = committed(ledger, fence(0, 1, 3), update("p", "[1]"))
    ledger, answer = opened(ledger, 0, 1, 4)
    assert not answer.clean


def test_a_new_generation_is_clean_only_if_all_tasks_before_it_ended_clean() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 1, 1, 2)
    ledger = committed(ledger, fence(0, 1, 1), clean=True)
    one_left, answer = opened(ledger, 0, 2, 3)
    assert not answer.clean
    _, answer = opened(one_left, 5, 2, 4)
    assert not answer.clean, "the partitions of task 1 may be with any task now"
    ledger = committed(ledger, fence(1, 1, 2), clean=True)
    ledger, answer = opened(ledger, 0, 2, 3)
    assert answer.clean
    _, answer = opened(ledger, 5, 2, 4)
    assert answer.clean


def test_the_tasks_of_the_present_generation_say_nothing_of_each_other() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    _ledger, answer = opened(ledger, 1, 1, 2)
    assert answer.clean


def test_an_unclean_end_is_not_forgotten_by_a_generation_whose_task_never_opened() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 0, 2, 2)
    ledger = committed(ledger, fence(0, 2, 2), clean=True)
    _ledger, answer = opened(ledger, 0, 3, 3)
    assert not answer.clean, "task 1 of generation 2 may have had the partition, and never looked"


def test_expected_offsets_are_compared_and_named_when_they_differ() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    owner = fence(0, 1, 1)
    ledger = committed(ledger, owner, update("p", "[10]", "none"))
    ledger = committed(ledger, owner, update("p", "[20]", "[10]"))
    with pytest.raises(Aborted) as caught:
        fencing.commit(ledger, owner, [update("q", "[1]"), update("p", "[30]", "[10]")], _deciding[-1].seen, clean=False, now=1)
    assert caught.value.metadata == {"partition": "p", "expected": "[10]", "stored": "[20]"}
    assert refused(ledger, owner, update("p", "[30]", "none")) == "POSITION_MISMATCH"
    assert refused(ledger, owner, update("q", "[30]", "[1]")) == "POSITION_MISMATCH"


def test_a_commit_whose_answer_was_lost_is_the_same_commit() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    owner = fence(0, 1, 1)
    ledger = committed(ledger, owner, update("p", "[20]", "none"))
    effects = fencing.commit(ledger, owner, [update("p", "[20]", "none")], _deciding[-1].seen, clean=False, now=99)
    assert effects.positions == ()


def test_altering_raises_the_incarnation_forgets_the_resume_and_shuts_everybody_out() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    owner = fence(0, 1, 1)
    ledger = fencing.apply(
        ledger, fencing.commit(ledger, owner, [Update("p", "[9]", 0, "{}", "")], _deciding[-1].seen, clean=False, now=1)
    )
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", ""), "q": ("[2]", "")}, 2))
    assert [(each.partition, each.offset, each.incarnation, each.resume) for each in ledger.positions.values()] == [
        ("p", "[1]", 1, ""),
        ("q", "[2]", 1, ""),
    ]
    assert refused(ledger, owner, update("p", "[9]")) == "FENCED"
    ledger, answer = opened(ledger, 0, 1, 2)
    assert not answer.clean
    ledger = committed(ledger, fence(0, 1, 2), update("p", "[3]", incarnation=1), update("new", "[1]"))
    assert (ledger.positions["p"].incarnation, ledger.positions["new"].incarnation) == (1, 0)
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", "")}, 3))
    ledger, _ = opened(ledger, 0, 1, 3)
    assert refused(ledger, fence(0, 1, 3), update("p", "[3]", incarnation=1)) == "POSITION_MISMATCH"


def test_the_incarnations_of_moves_are_above_all_that_a_store_has_drawn_that_a_backup_was_put_back_for() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    backup = committed(ledger, fence(0, 1, 1), update("p", "[9]"), update("q", "[9]"))
    at = 1_800_000_000_000_000

    def drawn(ledger: Ledger, now: int) -> set[int]:
        moves = [
            fencing.alter(ledger, {"p": ("[1]", "")}, now),
            fencing.reset(ledger, now),
            fencing.put_back(ledger, {"p": ("[1]", "")}, now),
            fencing.restore(ledger, Snapshot(1, 2, {"p": "[2]"}, 1), now),
        ]
        after = [fencing.apply(ledger, move) for move in moves]
        return {each.connector.incarnation for each in after[1:]} | {
            each.positions["p"].incarnation for each in after if "p" in each.positions
        }

    lost = drawn(backup, at)
    assert min(drawn(backup, at + 2_000)) > max(lost)
    # Also where a clock was years ahead once: what the store knows counts as well.
    ahead = fencing.apply(backup, fencing.alter(backup, {"p": ("[1]", "")}, at * 2))
    assert min(drawn(ahead, at)) > ahead.positions["p"].incarnation


def test_an_owner_stores_a_higher_incarnation_that_a_topic_or_a_target_knows_and_the_store_has_lost() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger = committed(ledger, fence(0, 1, 1), update("p", "[9]"))
    ledger = committed(ledger, fence(0, 1, 1), update("p", "[10]", "[9]", incarnation=5), update("q", "[1]", incarnation=4))
    assert {name: each.incarnation for name, each in ledger.positions.items()} == {"p": 5, "q": 4}
    # From then on it is as if the service had drawn it.
    assert refused(ledger, fence(0, 1, 1), update("p", "[11]", "[10]", incarnation=3)) == "POSITION_MISMATCH"
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", "")}, 3))
    assert ledger.positions["p"].incarnation == 6
    assert refused(ledger, fence(0, 1, 1), update("p", "[11]", incarnation=9)) == "FENCED"


def test_a_reset_begins_as_new_with_an_incarnation_above_all_there_were() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger = committed(ledger, fence(0, 1, 1), update("p", "[9]"))
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", "")}, 2))
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", "")}, 3))
    ledger = fencing.apply(ledger, fencing.reset(ledger, 4))
    assert ledger.positions == {}
    assert refused(ledger, fence(0, 1, 1), update("p", "[9]")) == "FENCED"
    ledger, answer = opened(ledger, 0, 1, 2)
    assert answer == Opened((), clean=True, incarnation=3)
    ledger = committed(ledger, fence(0, 1, 2), update("p", "[1]"))
    assert ledger.positions["p"].incarnation == 3


def test_a_newer_owner_waits_until_the_confirmation_of_the_older_one_is_over() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, fenced = confirmed(ledger, fence(0, 1, 1), now=1_000)
    assert fenced == []
    ledger, answer = opened(ledger, 0, 1, 2, now=1_030)
    assert answer.wait == 70
    _ledger, answer = opened(ledger, 0, 1, 3, now=1_100)
    assert answer.wait == 0


def test_the_newer_owner_waits_just_as_long_when_it_or_a_still_newer_one_opens_again() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_000)
    ledger, _ = opened(ledger, 0, 1, 2, now=1_010)
    assert opened(ledger, 0, 1, 2, now=1_020)[1].wait == 80
    assert opened(ledger, 0, 1, 3, now=1_040)[1].wait == 60


def test_from_the_open_on_the_older_owner_is_not_confirmed_any_more() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 1, 1, 2)
    ledger, _ = opened(ledger, 0, 1, 3)
    ledger, fenced = confirmed(ledger, fence(0, 1, 1), fence(1, 1, 2), now=1_000)
    assert fenced == [fence(0, 1, 1)]
    assert opened(ledger, 0, 1, 4, now=1_000)[1].wait == 0


def test_a_new_generation_waits_for_every_task_of_the_older_ones_in_all_its_tasks() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 5, 1, 2)
    ledger, _ = confirmed(ledger, fence(5, 1, 2), now=1_000)
    ledger, answer = opened(ledger, 0, 2, 3, now=1_010)
    assert answer.wait == 90
    ledger, answer = opened(ledger, 1, 2, 4, now=1_020)
    assert answer.wait == 80
    assert confirmed(ledger, fence(5, 1, 2), now=1_030)[1] == [fence(5, 1, 2)]


def test_who_is_confirmed_before_it_opens_is_waited_for_all_the_same() -> None:
    ledger, fenced = confirmed(NEW, fence(0, 1, 1), now=1_000)
    assert fenced == []
    ledger, answer = opened(ledger, 0, 1, 1, now=1_010)
    assert answer.clean, "it has sent nothing so far"
    assert opened(ledger, 0, 1, 2, now=1_020)[1].wait == 80


def test_the_same_owner_that_opens_again_does_not_wait_for_itself() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_000)
    ledger, answer = opened(ledger, 0, 1, 1, now=1_010)
    assert answer.wait == 0
    assert opened(ledger, 0, 1, 2, now=1_010)[1].wait == 90


def test_a_task_whose_positions_were_moved_is_not_confirmed_before_it_opens_again() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger = fencing.apply(ledger, fencing.reset(ledger, 4))
    assert confirmed(ledger, fence(0, 1, 1), now=1_000)[1] == [fence(0, 1, 1)]
    ledger, _ = opened(ledger, 0, 1, 1)
    assert confirmed(ledger, fence(0, 1, 1), now=1_000)[1] == []


def test_what_one_who_was_confirmed_has_sent_last_is_waited_for_as_well() -> None:
    ledger, answer = opened(NEW, 0, 1, 1, now=1_000, deadline=40)
    assert answer.wait == 0
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_000, lease=100)
    for epoch, now, wait in ((2, 1_000, 140), (3, 1_100, 40), (4, 1_130, 10), (5, 1_140, 0), (6, 9_000, 0)):
        ledger, answer = opened(ledger, 0, 1, epoch, now=now, deadline=40)
        assert answer.wait == wait


def test_a_replica_that_has_not_seen_the_confirmation_waits_for_all_of_it_whatever_its_clock_shows() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=10**15)
    for now in (0, 5, 10**15 + 99, 10**18):
        other = Replica()
        after, answer = opened(ledger, 0, 1, 2, now=now, by=other)
        assert answer.wait == 100
        assert opened(after, 0, 1, 3, now=now + 30, by=other)[1].wait == 70
        assert opened(after, 0, 1, 3, now=now + 100, by=other)[1].wait == 0


def test_who_ends_last_is_waited_for_also_where_replicas_saw_the_confirmations_at_other_times() -> None:
    """What is left under one id is not what is left under another: a replica must not keep the longer one for the later one."""
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 1, 1, 2)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_000, lease=100)
    ledger, _ = confirmed(ledger, fence(1, 1, 2), now=1_090, lease=50)
    ledger, answer = opened(ledger, 0, 2, 3, now=1_095, by=Replica())
    assert answer.wait == 100, "it has seen neither"
    assert opened(ledger, 1, 2, 4, now=1_095)[1].wait >= 45


def test_a_confirmation_again_never_shortens_what_was_confirmed(replica: Replica) -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_000, lease=100)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), now=1_010, lease=20)
    assert opened(ledger, 0, 1, 2, now=1_030)[1].wait == 70


def test_what_is_over_is_forgotten_so_that_a_replica_that_starts_later_waits_for_nobody(replica: Replica) -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 1, 1, 2)
    ledger, _ = confirmed(ledger, fence(0, 1, 1), fence(1, 1, 2), now=1_000, lease=100)
    ledger, _ = opened(ledger, 0, 1, 3, now=1_000)
    replica.now = 1_099 + fencing.LONGEST_LEASE
    assert opened(committed(ledger, fence(1, 1, 2)), 1, 1, 4, now=1, by=Replica())[1].wait == 100
    replica.now += 1
    ledger = committed(ledger, fence(1, 1, 2))
    assert opened(ledger, 1, 1, 4, now=1, by=Replica())[1].wait == 0


def test_what_a_new_generation_has_waited_for_is_not_waited_for_by_the_next() -> None:
    ledger, _ = opened(NEW, 0, 1, 1)
    ledger, _ = opened(ledger, 5, 1, 2)
    ledger, _ = confirmed(ledger, fence(5, 1, 2), now=1_000)
    ledger, _ = opened(ledger, 0, 2, 3, now=1_010)
    ledger, answer = opened(ledger, 0, 3, 4, now=1_010 + 90 + fencing.LONGEST_LEASE)
    assert answer.wait == 0
    assert opened(ledger, 0, 4, 5, by=Replica())[1].wait == 0


def test_a_newer_generation_is_opened_only_above_every_epoch_of_the_older_ones() -> None:
    """A cluster store that was restored from a backup: what is sent under a lower epoch would be dropped by every sink."""
    ledger, _ = opened(NEW, 0, 1, 20)
    for task in (0, 3):
        with pytest.raises(FailedPrecondition, match="epoch 20 opened"):
            fencing.open_task(ledger, fence(task, 2, 8), _deciding[-1].seen)
    ledger, _ = opened(ledger, 0, 2, 21)
    with pytest.raises(FailedPrecondition, match="epoch 20 opened"):
        fencing.open_task(ledger, fence(3, 2, 9), _deciding[-1].seen)
    _, fenced = confirmed(ledger, fence(3, 2, 9), now=0)
    assert fenced == [fence(3, 2, 9)]
    opened(ledger, 3, 2, 22)


def test_a_clock_that_is_years_ahead_of_the_epochs_draws_no_incarnation_by_itself() -> None:
    """What was drawn once stays, and a store that is restored later would draw it again."""
    now, in_2050 = 1_800_000_000_000_000, 2_524_608_000_000_000
    epoch = number_floor(now / 1_000_000)
    ledger, _ = opened(NEW, 0, 1, epoch)
    ledger = fencing.apply(ledger, fencing.alter(ledger, {"p": ("[1]", "")}, in_2050))
    assert ledger.positions["p"].incarnation == epoch + 1
    ledger = fencing.apply(ledger, fencing.reset(ledger, now + 60_000_000))
    assert ledger.connector.incarnation == epoch + 60_000 + 1


def by(worker: str, ledger: Ledger, task: int, generation: int, epoch: int) -> Ledger:
    effects, _ = fencing.open_task(ledger, fence(task, generation, epoch), _deciding[-1].seen, worker=worker)
    return fencing.apply(ledger, effects)


def commit_of(worker: str, ledger: Ledger, owner: Fence) -> str:
    """With which reason a commit of a worker is refused; "": it is not."""
    try:
        fencing.commit(ledger, owner, [update("p", "[1]")], _deciding[-1].seen, clean=False, now=1, worker=worker)
    except PermissionDenied as denied:
        return denied.reason
    return ""


def test_what_a_worker_has_opened_another_one_neither_commits_nor_opens_nor_confirms() -> None:
    owner = fence(0, 1, 5)
    ledger = by("one", NEW, 0, 1, 5)
    assert [commit_of(worker, ledger, owner) for worker in ("one", "two")] == ["", "NOT_OWNER"]
    with pytest.raises(PermissionDenied, match="opened by the worker 'one', and 'two' may not speak for it"):
        by("two", ledger, 0, 1, 5)
    assert by("one", ledger, 0, 1, 5).tasks[0].worker == "one"
    effects, fenced = fencing.confirm(ledger, [owner], 100, _deciding[-1].seen, worker="two")
    assert (effects.tasks, fenced) == ((), (owner,))
    assert fencing.confirm(ledger, [owner], 100, _deciding[-1].seen, worker="one")[1] == ()


def test_with_a_newer_epoch_a_task_is_the_next_workers() -> None:
    ledger = by("two", by("one", NEW, 0, 1, 5), 0, 1, 6)
    assert [commit_of(worker, ledger, fence(0, 1, 6)) for worker in ("one", "two")] == ["NOT_OWNER", ""]
    assert refused(ledger, fence(0, 1, 5), update("p", "[1]")) == "FENCED"


def test_without_a_name_nothing_is_held_against_anything() -> None:
    named, nameless = by("one", NEW, 0, 1, 5), by("", NEW, 0, 1, 5)
    assert [commit_of("", named, fence(0, 1, 5)), commit_of("two", nameless, fence(0, 1, 5))] == ["", ""]
    assert by("two", nameless, 0, 1, 5).tasks[0].worker == "two", "from then on it is known"
