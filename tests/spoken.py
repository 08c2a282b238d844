"""The command line in this process: most of what a process of its own costs are its imports, and a test gives a dozen commands.

Those that the README and the examples show run as they are written, in a shell.
"""

from collections.abc import Mapping
from contextvars import copy_context
from functools import partial
from typing import Any

from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.root import app


def answered(*words: str, **more: Any) -> Result:
    """What a command says and ends with; a traceback of it is the test's.

    Args:
        words: Of the command, without `rocketconnect`.
        more: For `CliRunner.invoke`.
    """
    result = CliRunner().invoke(app, words, **more)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def rc(url: str, *words: str, env: Mapping[str, str] | None = None, given: str = "") -> tuple[int, str, str]:
    """Give a command to an instance: its exit code, and what it prints on its two outputs.

    Args:
        url: Where REST answers.
        words: Of the command, without `rocketconnect`.
        env: More variables.
        given: Its standard input.
    """
    told = {"ROCKETCONNECT_URL": url, **(env or {})}
    # As whom it was said is in the context.
    answer = copy_context().run(partial(answered, *words, prog_name="rocketconnect", env=told, input=given))
    return answer.exit_code, answer.stdout, answer.stderr
