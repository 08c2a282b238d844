"""What becomes of dead letters when they come back, as a check says it."""

from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, replay_topic
from services.executor.contract.questions import CheckLetters, LetterToCheck
from services.executor.host.jobs.letters.checking import check_letters

CONFIG = {
    "connector.class": "file_sink",
    "topics": "orders,people",
    "filename": "/tmp/orders.txt",
    "transforms": "out",
    "transforms.out.type": "filter",
    "transforms.out.predicate": "people",
    "predicates": "people",
    "predicates.people.type": "topic_matches",
    "predicates.people.pattern": "people",
}


def test_a_letter_is_of_the_topic_in_which_it_failed_first() -> None:
    origins = ("orders/b/0:7", "people/b/0:3")
    letters = [LetterToCheck(b"x", {REPLAY_ORIGIN: origin}) for origin in origins]
    checked = check_letters(CheckLetters(CONFIG, replay_topic("u"), letters))
    assert not checked.trouble
    assert [(letter.problem, letter.is_dropped) for letter in checked.letters] == [("", False), ("", True)]
