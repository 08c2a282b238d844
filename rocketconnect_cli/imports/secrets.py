"""Names that secrets of an import have in the keystore. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocketconnect_cli.imports.plan import Step

_OTHER = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)
_LONGEST_KEY = 100
_REFERENCE = re.compile(r"\$\{keystore:([^}]*)\}")
_FIX = "Import it alone, with the secret under a name of your own (rocketconnect secret set NAME): --set {key}='${{keystore:NAME}}'"


def secret_name(connector: str, key: str, taken: Collection[str]) -> str:
    """The name of a secret: the same whenever a configuration is imported again, and none of those of its other options."""
    name = first = f"{connector}.{_OTHER.sub('_', key)[:_LONGEST_KEY]}"
    number = 1
    while name in taken:
        number += 1
        name = f"{first}_{number}"
    return name


def clashes(steps: "Sequence[Step]", ours: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """What would overwrite the secret of another connector: of one that is here, or of one that is imported, too.

    Args:
        steps: Those that are made anew.
        ours: The connectors that are here, by name.
    """
    users = {name: connector for connector, each in ours.items() for name in _names(each["config"])}
    problems = []
    for step in steps:
        for key in sorted(step.made.secret_keys):
            (name,) = _names({key: step.made.config[key]})
            if (user := users.setdefault(name, step.name)) != step.name:
                reason = f"would be the secret {name}, which {user} has"
                problems.append({"key": f"{step.name}: {key}", "reason": reason, "fix": _FIX.format(key=key)})
    return problems


def _names(config: Mapping[str, str]) -> list[str]:
    return [name for text in config.values() for name in _REFERENCE.findall(text)]
