"""The configurations that a command is given: of a file of any form, with KEY=VALUE on top."""

from collections.abc import Sequence
from pathlib import Path

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.documents import configuration, reading
from rocketconnect_sdk.wording.counts import counted

FORMS = "A JSON object (flat, or what `get -o json` prints), a .properties file, or YAML as `apply` takes it; - is standard input"
_YAML = (".yaml", ".yml")


def read(file: Path | None, pairs: Sequence[str]) -> tuple[str, dict[str, str]]:
    """One configuration, with the name of its connector; "": the form of the file has none.

    Args:
        file: In one of FORMS; of "-" JSON or .properties.
        pairs: KEY=VALUE each.

    Raises:
        ApiError: WRONG, with every problem at once.
    """
    found = read_all(file, pairs)
    if len(found) > 1:
        names = ", ".join(name for name, _config in found)
        fix = "Give a file with one, or all of them to `rocketconnect apply -f FILE`, with --dry-run to check them alone."
        problem = {"key": str(file), "reason": f"holds {counted(found, 'connector')}: {names}", "fix": fix}
        raise ApiError(Exit.WRONG, {"detail": "one configuration is wanted", "problems": [problem]})
    return found[0]


def read_all(file: Path | None, pairs: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """All configurations of a file, one at least, each with its name. See read."""
    if file is None or file.suffix not in _YAML:
        return [("", configuration.read(file, pairs))]
    found, problems = reading.read([file])
    if problems:
        raise ApiError(Exit.WRONG, {"detail": "the file can't be read", "problems": problems})
    more = configuration.read(None, pairs) if pairs else {}
    return [(each.name, {**each.config, **more}) for each in found]
