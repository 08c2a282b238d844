"""Which consumer groups are meant. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rocketconnect_sdk.configuration.patterns import compiled
from rocketconnect_sdk.options import Config

if TYPE_CHECKING:
    import re

_SYSTEM_PREFIXES = ("CID_RMQ_SYS_", "CID_ONSAPI", "CID_ONS-HTTP-PROXY", "CID_ONS_")
_SYSTEM = frozenset({"TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "rocketmq_remoting", "rocketconnect-replicator"})
"""Groups of RocketMQ itself (MixAll of RocketMQ has them), of our own client, and that of `rocketmq_source`."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Some groups. Made by `of`."""

    names: frozenset[str]
    pattern: "re.Pattern[str] | None" = None
    exclude: "re.Pattern[str] | None" = None

    @classmethod
    def of(cls, config: Config) -> Self:
        """What a configuration says."""
        pattern, exclude = (compiled(text) if (text := config[key]) else None for key in ("groups.pattern", "groups.exclude"))
        return cls(frozenset(config["groups"]), pattern, exclude)

    def of_topic(self, groups: Iterable[str]) -> list[str]:
        """Of the groups of a topic those that are meant; those that are named are, whatever they are."""
        return sorted(group for group in groups if group in self.names or self._matches(group))

    def _matches(self, group: str) -> bool:
        if self.pattern is None or not self.pattern.fullmatch(group) or is_system_group(group):
            return False
        return self.exclude is None or not self.exclude.fullmatch(group)


def is_system_group(group: str) -> bool:
    """Whether it is one that RocketMQ, or a client of ours, keeps for itself."""
    return group in _SYSTEM or group.startswith(_SYSTEM_PREFIXES)
