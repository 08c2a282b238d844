"""What people mean who give a configuration as words behind a name."""

from collections.abc import Sequence

from rocketconnect_cli.api import ApiError, Exit

_FILES = (".json", ".properties", ".yaml", ".yml")


def refuse_words(words: Sequence[str]) -> None:
    """Say what words were meant for; their values are not repeated, they may be secrets.

    Raises:
        ApiError: WRONG, when there are any.
    """
    if not words:
        return
    file = next((word for word in words if "=" not in word and word.endswith(_FILES)), None)
    keys = [word.partition("=")[0] for word in words if word.partition("=")[0] and "=" in word]
    if keys:
        fix = f"give each KEY=VALUE with --set: {' '.join(f'-s {key}=...' for key in keys)}"
    elif file is not None:
        fix = f"apply -f {file} takes several connectors" if file.endswith(_FILES[2:]) else f"give a file with --file: -f {file}"
    else:
        fix = "give its configuration as -s KEY=VALUE, once for each key, or as -f FILE"
    raise ApiError(Exit.WRONG, {"detail": f"only the name stands alone here; {fix}"})
