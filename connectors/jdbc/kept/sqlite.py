"""What columns of SQLite keep. Pure."""

from collections.abc import Sequence

from connectors.jdbc.kept.checks import Check, number


def checks(kind: str) -> Sequence[Check]:
    """What a column of texts would change without an error: https://www.sqlite.org/datatype3.html, "Type Affinity"."""
    lower = kind.lower()
    if not kind or ("int" not in lower and any(each in lower for each in ("char", "clob", "text", "blob"))):
        return []
    is_number = any(each in lower for each in ("int", "real", "floa", "doub", "num", "dec"))
    return [number(kind, spelled=not is_number)]
