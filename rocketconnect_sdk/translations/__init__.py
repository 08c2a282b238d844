"""Configurations that were written for connectors of other systems, as configurations of ours. Pure, and data as far as it can be.

A table for each connector of theirs says what its options are called here, which mean nothing here, and which have no counterpart.
What a table does not know passes as it is: the plugin says whether it knows it.
"""

from collections.abc import Mapping, Sequence

from rocketconnect_sdk.translations.rocketmq_connect import SYSTEM
from rocketconnect_sdk.translations.tables import Translated, translate


def classes_of(plugin: str) -> Sequence[str]:
    """The class names of other systems whose configurations become those of a plugin of ours."""
    return [name for table in SYSTEM.tables if table.plugin == plugin for name in table.classes]


def translated(config: Mapping[str, str]) -> Translated:
    """The configuration as one of ours. One that names no connector of another system stays as it is."""
    return translate(SYSTEM, config)
