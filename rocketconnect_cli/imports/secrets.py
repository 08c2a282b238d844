"""Names that secrets of an import have in the keystore. Pure."""

import re
from collections.abc import Collection, Mapping

_OTHER = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)
_LONGEST_KEY = 100
_REFERENCE = re.compile(r"\$\{keystore:([^}]*)\}")


def secret_name(connector: str, key: str, taken: Collection[str]) -> str:
    """The name of a secret: the same whenever a configuration is imported again, and none of those of its other options."""
    name = first = f"{connector}.{_OTHER.sub('_', key)[:_LONGEST_KEY]}"
    number = 1
    while name in taken:
        number += 1
        name = f"{first}_{number}"
    return name


def names_in(config: Mapping[str, str]) -> list[str]:
    """The secrets of the keystore that a configuration names."""
    return [name for text in config.values() for name in _REFERENCE.findall(text)]
