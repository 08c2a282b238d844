"""`rocketconnect init`: a project for a connector of one's own."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.output import Output, OutputOption, emit, with_api
from rocketconnect_cli.projects import rendering
from rocketconnect_cli.projects.rendering import Family, Names


@with_api
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project, and the folder that is made here: weather-notes.")],
    family: Annotated[
        Family,
        typer.Option(
            help="What the connector is: a sink of keys, documents or messages (write), or a source of partitions, of a queue, of "
            "pages behind a cursor, or one that listens."
        ),
    ] = Family.WRITE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a project with a connector of your own, its package and a test that passes at once.

    It has the example of docs/write-a-connector.md for its family. Asks no service. Exit code 2 when the name can't be taken, 4
    when there is such a folder already: nothing is ever written over.
    """
    folder = Path(name)
    problem = rendering.name_problem(name)
    if problem is None and (folder.exists() or folder.is_symlink()):
        raise ApiError(Exit.CONFLICT, {"detail": f"{folder} is there already. Give another name, or take it away."})
    names = Names(name, family)
    problem = problem or rendering.class_problem(names) or _taken_problem(names)
    if problem is not None:
        reason, fix = problem
        wrong = {"key": "NAME", "value": name[:200], "reason": reason, "fix": fix}
        raise ApiError(Exit.WRONG, {"detail": "no project can be made", "problems": [wrong]})
    made = rendering.files(names)
    try:
        folder.mkdir()
        for path, text in made.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ApiError(Exit.FAILED, {"detail": f"{error.filename or folder} can't be written: {error.strerror}"}) from None
    paths = [str(folder / path) for path in made]
    emit(
        output,
        {"name": name, "plugin": names.plugin, "files": paths},
        lambda: "\n".join([*paths, f"The connector {names.plugin} is in {folder}; its test: cd {folder} && pytest"]),
    )


def _taken_problem(names: Names) -> tuple[str, str] | None:
    """A name that somebody else has: a package of this environment, or a plugin."""
    # What they need is read when a project is made, and not with every command.
    from rocketconnect_sdk.errors import ConfigError
    from rocketconnect_sdk.plugins import loader

    fix = f"Give another one, such as my-{names.name}."
    if find_spec(names.package) is not None:
        return f"is a package of this Python already ({names.package})", fix
    try:
        loader.find(names.plugin)
    except ConfigError:
        return None
    return f"makes a plugin {names.plugin}, and there is one", fix
