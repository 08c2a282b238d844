"""What a sink needs of Spark beyond Spark itself: jars and settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_LISTS = frozenset({"spark.sql.extensions", "spark.jars", "spark.jars.packages", "spark.plugins", "spark.extraListeners"})
"""Settings that are lists, separated by commas: each who sets one adds to it."""


@dataclass(frozen=True, slots=True)
class SparkNeeds:
    """What there must be in a Spark session before a sink begins. Sinks with the same needs share a session.

    Attributes:
        title: What the jars are, and their version, for people: "Delta Lake 4.4.0"; empty: it needs none.
        jars: The path of the list of the jars, a file that comes with the plugin: in each line "group:name:version" and the SHA-256
            of the jar, nothing else is fetched. The name of the file, without .jars, names the folder in the cache of this machine.
        settings: Of Spark; those that are lists (spark.sql.extensions) are joined with what others set.
    """

    title: str = ""
    jars: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


NOTHING = SparkNeeds()


def joined(needed: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """What Spark is told: what a sink needs and what people want, which wins where only one of them can be had."""
    made = {**needed, **wanted}
    for key in _LISTS & needed.keys() & wanted.keys():
        made[key] = ",".join(dict.fromkeys((*needed[key].split(","), *wanted[key].split(","))))
    return made
