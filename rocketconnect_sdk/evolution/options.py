"""The option of sinks that have tables."""

from collections.abc import Collection, Iterable

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution.settling import Policy
from rocketconnect_sdk.options import Config, Option

POLICY = Option(
    "schema.evolution",
    "When records have other columns than the table. evolve: the table gets new columns and wider types, where it can. ignore: it "
    "stays as it is, and fields that are no columns are left out. fail: the task fails before them. dead_letter: they are bad "
    "records. Values that the column of the table does not have are bad records in any case.",
    choices=tuple(policy.value for policy in Policy),
)
"""Sinks say their default in its place: `replace(POLICY, default="evolve")`."""


def policy_problems(config: Config, allowed: Collection[Policy], why: str) -> Iterable[Problem]:
    """What is wrong with the policy of a sink.

    Args:
        config: Of the sink.
        allowed: The policies that mean something with the other options.
        why: Why others do not: "a CSV file keeps its columns".
    """
    if POLICY.key not in config.raw:
        return
    given = config[POLICY.key]
    if not allowed:
        yield Problem(POLICY.key, given, f"means nothing here: {why}", "Remove it.")
    elif Policy(given) not in allowed:
        yield Problem(POLICY.key, given, f"is not possible here: {why}", f"Use one of {', '.join(each.value for each in allowed)}.")
    elif Policy(given) is Policy.DEAD_LETTER:
        for key, fix in (("errors.tolerance", "all"), ("errors.deadletterqueue.topic.name", "the topic for them")):
            value = config.raw.get(key, "")
            if not value or (fix == "all" and value != "all"):
                yield Problem(POLICY.key, given, f"needs {key}", f"Set {key} to {fix}.")
