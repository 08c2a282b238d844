"""What is wrong with a cluster that is to be written."""

from collections.abc import Iterable

from confluent_kafka import KafkaError

from connectors.kafka.client import Client, made_of, producer_of
from connectors.kafka.connection import ended
from connectors.kafka.sending import AbortedError, FencedError, begun, in_transactions
from connectors.kafka.topics import WRITING_FIX, Topics
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.wording.counts import counted

_ELSE = "Let the cluster keep transactions, or set delivery=at_least_once."


def problems_there(config: Config, seconds: float, *, exact: bool) -> Iterable[Problem]:
    """What a cluster says against a configuration.

    Args:
        config: That of a sink.
        seconds: How long an answer may take.
        exact: Transactions are wanted.

    Raises:
        SystemAway: it does not answer.
        PermanentError: it does not take us.
    """
    topics = Topics(config, seconds)
    topics.ping()
    name: str = config["target.topic"]
    if "$" not in name:
        yield from _target_problems(config, topics, name)
    if exact:
        yield from _positions_problems(config, topics)
        yield from _transaction_problems(config, seconds)


def _target_problems(config: Config, topics: Topics, name: str) -> Iterable[Problem]:
    found = topics.described([name])[name]
    if isinstance(found, int) or (found.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and config["target.create"]):
        return
    if found.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        yield Problem("target.topic", name, "is not there", "Create it, set target.create=true, or give the user Describe on it.")
    elif found.code() == KafkaError.TOPIC_EXCEPTION:
        yield Problem("target.topic", name, "is no name of a topic", "Use letters, digits, . _ and -, at most 249.")
    else:
        yield Problem("target.topic", name, found.str(), f"{WRITING_FIX}.")


def _positions_problems(config: Config, topics: Topics) -> Iterable[Problem]:
    key, name = "positions.topic", config["positions.topic"]
    found = topics.described([name])[name]
    if not isinstance(found, int):
        if found.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            yield Problem(key, name, found.str(), "Name a topic that is there, or may be made.")
        return
    if found != 1:
        fix = "Name a topic of one partition, or one that is not there."
        yield Problem(key, name, f"has {counted(found, 'partition')}, and positions are in one", fix)
    if (policy := topics.policy(name)) not in ("", "compact"):
        fix = f"Set cleanup.policy=compact for it, or name another topic: kafka-configs --alter --topic {name} ..."
        yield Problem(key, name, f"has cleanup.policy={policy}, which removes positions", fix)


def _transaction_problems(config: Config, seconds: float) -> Iterable[Problem]:
    """Begins as a producer that is nobody's."""
    with made_of(config):
        settings = in_transactions(config, f"{config['transactional.id.prefix']}-check")
        client = Client(config, producer_of, settings, seconds, WRITING_FIX)
    try:
        begun(client)
    except (FencedError, AbortedError):
        # Somebody else checks the same now.
        return
    except SystemAway as error:
        reason = f"is not possible now: the cluster begins no transaction: {error}"
        yield Problem("delivery", config["delivery"], reason, _ELSE, is_warning=True)
    except PermanentError as error:
        yield Problem("delivery", config["delivery"], f"is not possible: the cluster begins no transaction: {error}", _ELSE)
    finally:
        ended(client)
