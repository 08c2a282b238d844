import pytest

from rocketconnect_sdk.letters.dead_letters import DeadLetter, Filter, format_spans, parse_ids, read_spans
from rocketconnect_sdk.letters.newest import Newest
from rocketconnect_sdk.topics import Message

QUEUES = ["dead/a/0", "dead/a/1"]


def letter(offset: int, key: str = "", at: int | None = None, connector: str = "") -> DeadLetter:
    place = {} if at is None else {"topic": "t", "broker": "a", "queue": "0", "offset": str(at)}
    by = {"connector.name": connector} if connector else {}
    noted = {f"__connect.errors.{name}": value for name, value in {**place, **by}.items()}
    return DeadLetter.of(Message("dead/a/0", offset, b"x", {**noted, **({"KEYS": key} if key else {})}, 1))


def test_ids_become_ranges_that_are_joined_and_survive_being_written() -> None:
    spans, wrong = parse_ids(["a:0:5", "0:6-9", "a:1:3", "a:0:20"], QUEUES)
    assert (spans, wrong) == ({"dead/a/0": [(5, 10), (20, 21)], "dead/a/1": [(3, 4)]}, [])
    assert read_spans("dead", format_spans(spans)) == spans


@pytest.mark.parametrize("given", ["", "x", "a:0", "b:0:1", "a:7:1", "a:0:9-5", "a:0:-1"])
def test_an_id_that_names_nothing_is_told(given: str) -> None:
    assert [each for each, _ in parse_ids([given], QUEUES)[1]] == [given]


def test_an_edition_is_no_dead_letter_and_gives_its_tags_back() -> None:
    tagged = DeadLetter.of(Message("dead/a/0", 4, b"x", {"TAGS": "t", "__connect.errors.stage": "TASK_PUT"}, 1))
    edition = DeadLetter.of(Message("dead/a/0", 9, b"y", tagged.edited(b"y"), 2))
    assert (edition.edition_of, edition.properties["TAGS"], edition.stage) == (4, "t", "write")
    assert Filter("c").takes(tagged)
    assert not Filter("c").takes(edition)


def test_a_dead_letter_of_another_connector_is_not_meant() -> None:
    assert Filter("c").takes(letter(1, connector="c"))
    assert Filter("c").takes(letter(1))
    assert not Filter("c").takes(letter(1, connector="other"))


def test_only_a_newer_record_of_the_same_key_counts_and_a_key_without_a_place_is_left_out() -> None:
    old, alone, nowhere, keyless = letter(1, "k", 5), letter(2, "other", 6), letter(3, "k"), letter(4, at=7)
    newest = Newest()
    for each in (old, alone, nowhere, keyless):
        newest.want(each)
    for offset, key in ((5, "k"), (6, "other"), (8, "k")):
        newest.saw(Message("t/a/0", offset, b"", {"KEYS": key}, 1))
    assert [newest.has_newer(each) for each in (old, alone, nowhere, keyless)] == [True, False, True, False]
