"""The names that RocketMQ allows: TopicValidator and the client's Validators, version 5.5. Pure."""

TOPIC_LENGTH = 127
CHARACTERS = "letters, digits, %, |, - and _"


def name_problem(name: str, longest: int) -> str | None:
    """What is wrong with the name of a topic or a group, as words behind it; None: nothing."""
    reasons = []
    if len(name) > longest:
        reasons.append(f"is {len(name)} characters long, and {longest} are allowed")
    wrong = sorted({char for char in name if not (char.isascii() and (char.isalnum() or char in "%|-_"))})
    if wrong:
        reasons.append(f"has {' '.join(map(repr, wrong[:5]))}, and only {CHARACTERS} are allowed")
    return " and ".join(reasons) or None


def topic_problem(topic: str) -> str | None:
    """What is wrong with the name of a topic, as words behind it; None: nothing."""
    return name_problem(topic, TOPIC_LENGTH)
