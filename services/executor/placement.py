"""Which kind of host a task needs. Pure."""

import hashlib

from services.executor.lifecycle import Assigned

Profile = tuple[tuple[str, str], ...]
"""What is fixed when a Spark driver starts: the spark.* keys of a connector, in their order. Connectors with the same share one."""

NATIVE = None
"""The profile of a host without Spark."""


def profile_of(assigned: Assigned) -> Profile | None:
    """Return the Spark profile that a task needs, or NATIVE.

    Only sinks run on Spark. A sink that runs natively alone is told engine=native, or refused when its configuration is checked.
    """
    if assigned.type != "SINK" or assigned.config.get("engine", "spark").strip() != "spark":
        return NATIVE
    return tuple(sorted((key, value) for key, value in assigned.config.items() if key.startswith("spark.")))


def profile_name(profile: Profile | None) -> str:
    """Return a name for people: "native", "spark", or "spark-" and a digest, since values in a profile may be secret."""
    if profile is NATIVE:
        return "native"
    if not profile:
        return "spark"
    return f"spark-{hashlib.sha256(repr(profile).encode()).hexdigest()[:8]}"
