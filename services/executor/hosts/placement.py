"""Which kind of host a task needs."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.permissions import spark_profiles
from rocketconnect_sdk.spark.needs import SparkNeeds, joined
from services.executor.contract.assignment import Assigned


@dataclass(frozen=True, slots=True)
class Profile:
    """What is fixed when a Spark driver starts. Tasks with the same one share a driver.

    Attributes:
        settings: What Spark is told, by the order of the keys.
        title: What the jars are, for people; empty: there are none beside Spark's.
        jars: The list of them; see SparkNeeds.
    """

    settings: tuple[tuple[str, str], ...] = ()
    title: str = ""
    jars: str = ""


PLAIN = Profile()
"""That of a driver of which nobody wants anything."""

NATIVE = None
"""The profile of a host without Spark."""

SPARK = "spark"
"""The engine that has drivers."""


def profile_of(
    assigned: Assigned, profiles: str, needs: Callable[[str], SparkNeeds], engine: Callable[[str, str], str]
) -> Profile | None:
    """Return the Spark profile that a task needs, or NATIVE.

    Only sinks run on Spark.

    Args:
        assigned: The task.
        profiles: The path of the file of Spark profiles; empty: there are none.
        needs: What a plugin of a name needs of Spark.
        engine: What a plugin of a name runs on, where its configuration asks for this; empty: for nothing.
    """
    config: Mapping[str, str] = assigned.config
    name = config.get(CLASS.key, "").strip()
    if assigned.type != "SINK" or engine(name, config.get("engine", "").strip()) != SPARK:
        return NATIVE
    needed = needs(name)
    # A stored configuration may be older than what is allowed now: its task is refused when it is read in the host.
    settings = joined(needed.settings, spark_profiles.settings(config, profiles))
    return Profile(tuple(sorted(settings.items())), needed.title, needed.jars)


def profile_name(profile: Profile | None) -> str:
    """Return a name for people: "native", "spark", or "spark-" and a digest, since values in a profile may be secret."""
    if profile is NATIVE:
        return "native"
    if profile == PLAIN:
        return "spark"
    return f"spark-{hashlib.sha256(repr(profile).encode()).hexdigest()[:8]}"
