"""Which kind of host a task needs."""

import hashlib

from rocketconnect_sdk.permissions import spark_profiles
from services.executor.contract.assignment import Assigned

Profile = tuple[tuple[str, str], ...]
"""What is fixed when a Spark driver starts: what connectors tell Spark, by the order of the keys. Those with the same share one."""

NATIVE = None
"""The profile of a host without Spark."""


def profile_of(assigned: Assigned, profiles: str) -> Profile | None:
    """Return the Spark profile that a task needs, or NATIVE.

    Only sinks run on Spark. A sink that runs natively alone is told engine=native, or refused when its configuration is checked.

    Args:
        assigned: The task.
        profiles: The path of the file of Spark profiles; empty: there are none.
    """
    if assigned.type != "SINK" or assigned.config.get("engine", "spark").strip() != "spark":
        return NATIVE
    # A stored configuration may be older than what is allowed now: its task is refused when it is read in the host.
    return tuple(sorted(spark_profiles.settings(assigned.config, profiles).items()))


def profile_name(profile: Profile | None) -> str:
    """Return a name for people: "native", "spark", or "spark-" and a digest, since values in a profile may be secret."""
    if profile is NATIVE:
        return "native"
    if not profile:
        return "spark"
    return f"spark-{hashlib.sha256(repr(profile).encode()).hexdigest()[:8]}"
