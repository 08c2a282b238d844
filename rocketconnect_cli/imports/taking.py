"""What all imports do alike: what they ask of people and of this instance, and how they show a plan and carry it out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.documents import configuration
from rocketconnect_cli.imports.carrying import checked, store_secrets
from rocketconnect_cli.imports.plan import Step, clashes
from rocketconnect_cli.output import Output, emit, out, show_warnings

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="NAME", help="Only these connectors. Default: all of the worker.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it. Without it the plan is printed, and nothing is changed.")]
PairsOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Another value in each configuration; again for more."),
]
UnsetOption = Annotated[
    list[str] | None, typer.Option("--unset", metavar="KEY", help="Leave this key out of each configuration; again for more.")
]


class Here(NamedTuple):
    """This instance.

    Attributes:
        plugins: What executors offer.
        connectors: All, by name.
        positions: Of those that have the name of one that is imported, by that.
    """

    plugins: list[dict[str, Any]]
    connectors: dict[str, dict[str, Any]]
    positions: dict[str, list[dict[str, Any]]]


def here(client: Api, names: Iterable[str]) -> Here:
    """Ask this instance what it has, with the positions of connectors of these names."""
    plugins = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
    ours = {each["name"]: each for each in client.pages("/v1/connectors", "connectors", {"name": "", "config": {}})}
    row = {"partition": "", "offset": ""}
    both = [name for name in names if name in ours]
    return Here(plugins, ours, {name: list(client.pages(f"{connector_path(name)}/positions", "positions", row)) for name in both})


def changes(pairs: Sequence[str] | None, unset: Sequence[str] | None) -> Mapping[str, str | None]:
    """What the user says of each configuration: another value, or None: it is left out.

    Raises:
        ApiError: WRONG: a pair can't be read.
    """
    return {**dict.fromkeys(unset or ()), **(configuration.read(None, pairs) if pairs else {})}


def take_over(
    client: Api,
    steps: Sequence[Step],
    offered: Sequence[Step],
    ours: Here,
    problems: Sequence[dict[str, str]],
    heading: str,
    output: Output,
    carry_out: Callable[[Callable[[str], None]], None] | None,
) -> None:
    """Show a plan, and carry it out where nothing forbids it.

    Args:
        client: Asks.
        steps: The plan.
        offered: Those of them that are not here, and whose plugin an executor has.
        ours: This instance.
        problems: What forbids the plan by itself.
        heading: Of the plan.
        output: How it is shown.
        carry_out: Makes the connectors, and tells each by its argument; None: only the plan is wanted.

    Raises:
        ApiError: WRONG, with all that forbids it; and what carries it out raises.
    """
    told: list[dict[str, str]] = []
    new = [step for step in steps if not step.exists]
    wrong = [*problems, *clashes(new, ours.connectors), *checked(client, offered, told, stored=False)]
    if output is not Output.JSON:
        for line in (heading, *(line for step in steps for line in step.lines())):
            out.print(line, markup=False)
    show_warnings({"warnings": told})
    if wrong:
        raise ApiError(Exit.WRONG, {"detail": "this can't be imported. Nothing was changed", "problems": wrong})
    if carry_out is not None:
        # Those of a connector that is here may have been given anew since.
        stored = store_secrets(client, new)
        if stored and (wrong := checked(client, new, [], stored=True)):
            detail = f"this can't be imported. Only secrets were stored: {', '.join(stored)}"
            raise ApiError(Exit.WRONG, {"detail": detail, "problems": wrong})
        carry_out(lambda line: None if output is Output.JSON else out.print(line, markup=False))
    if output is Output.JSON:
        emit(output, {"imported": carry_out is not None, "connectors": [step.document() for step in steps]}, str)
    elif carry_out is None and steps:
        out.print("Nothing was changed: this is the plan. --yes carries it out.", markup=False)
