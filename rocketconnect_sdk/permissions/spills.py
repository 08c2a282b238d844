"""How much disk a query of a user may take beside its memory: the operator of the executors says it."""

from collections.abc import Mapping

from rocketconnect_sdk.permissions.spark_profiles import memory_size

SPILLS = "ROCKETCONNECT_QUERY_SPILL"
"""The limit for each process of a query, 1g."""

SETTING = "--query-spill"
"""The setting of executors that says it, for people."""

USUAL = "1g"


def spill_limit(environment: Mapping[str, str]) -> int:
    """The bytes that one process of a query may have on disk at a time; 0: none.

    Raises:
        ValueError: what the environment says is no size.
    """
    return memory_size(environment.get(SPILLS) or USUAL)
