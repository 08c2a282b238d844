"""One request for each of several connectors: the refusal of one stops none of the others."""

from collections.abc import Callable, Sequence
from typing import Any

import typer

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.output import Output, emit, err, in_words, out, show_error

_NOBODY = (Exit.UNAVAILABLE, Exit.TIMEOUT)
"""Nobody would answer for the others."""

Ask = Callable[[str], dict[str, Any]]
Say = Callable[[str, dict[str, Any]], str]


def ask_each(names: Sequence[str], ask: Ask, say: Say, output: Output, field: str, *, going_on: Sequence[Exit] = ()) -> None:
    """Asks for each of them and says so, each on a line of its own and at once; as JSON all together at the end.

    Args:
        names: The connectors, each once.
        ask: What is asked for one of them.
        say: Its name and answer, for people.
        output: How.
        field: What the answers are called in JSON.
        going_on: Of the failures that say that nobody answers, those after which the others are asked all the same.

    Raises:
        Exit: one or more were refused; the code is that of the first.
    """
    answers: list[dict[str, Any]] = []
    refused: list[tuple[str, ApiError]] = []
    left: Sequence[str] = ()
    for number, name in enumerate(names, start=1):
        try:
            answers.append(ask(name))
        except ApiError as error:
            refused.append((name, in_words(error, name)))
            if output is Output.TABLE:
                told = str(refused[-1][1])
                err.print(told if name in told else f"{name}: {told}", style="red", markup=False)
            if error.exit_code in _NOBODY and error.exit_code not in going_on:
                left = names[number:]
                break
            continue
        if output is Output.TABLE:
            out.print(say(name, answers[-1]), markup=False)
    if output is Output.JSON:
        failures = [{"name": name, "error": error.problem} for name, error in refused]
        emit(output, {field: answers, "refused": failures, **({"notAsked": left} if left else {})}, lambda: ())
    if refused:
        detail = f"{len(refused)} of {len(names)} failed: {', '.join(name for name, _ in refused)}"
        detail += f"; not asked: {', '.join(left)}" if left else ""
        show_error(ApiError(Exit.FAILED, {"detail": detail}))
        raise typer.Exit(int(refused[0][1].exit_code))


def once(names: Sequence[str]) -> list[str]:
    """The same names in their order, each once."""
    return list(dict.fromkeys(names))
