"""The strategies by the names that a setting has for them."""

import enum
from collections.abc import Mapping

from services.cluster.assignment import balanced, consistent_hash, sticky
from services.cluster.assignment.model import Strategy


class StrategyName(enum.StrEnum):
    """How tasks are given to workers; see docs/workers.md for which one fits."""

    BALANCED = "balanced"
    STICKY = "sticky"
    CONSISTENT_HASH = "consistent_hash"


STRATEGIES: Mapping[StrategyName, Strategy] = {
    StrategyName.BALANCED: balanced.assign,
    StrategyName.STICKY: sticky.assign,
    StrategyName.CONSISTENT_HASH: consistent_hash.assign,
}
