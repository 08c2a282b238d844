"""The topics of tables. Pure."""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_REFUSED = re.compile(r"[^A-Za-z0-9_%|-]")


def topic_of(template: str, values: Mapping[str, str]) -> str:
    """The topic of a table: a template with its placeholders, ${table}, filled; what RocketMQ takes in no name becomes _.

    A placeholder without a value stays, as text of such characters.
    """
    return _REFUSED.sub("_", _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template))
