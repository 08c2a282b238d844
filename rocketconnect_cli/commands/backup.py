"""The commands `rocketconnect backup` and `rocketconnect restore`: the stores of all services in one file, and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.commands.dead_letters.unreplayed import is_asked
from rocketconnect_cli.extras import advice
from rocketconnect_cli.output import Output, OutputOption, emit, err, with_api
from rocketconnect_kit.errors import FailedPrecondition, Unavailable
from rocketconnect_sdk.wording.counts import counted

if TYPE_CHECKING:
    from rocketconnect_cli.backups.archive import Reader
    from rocketconnect_cli.backups.told import Fate

P = ParamSpec("P")
R = TypeVar("R")

DataOption = Annotated[
    Path,
    typer.Option(envvar="ROCKETCONNECT_DATA_DIR", help="The folder of the stores: what `up` has as --data, services as data_dir."),
]
StoreUrlOption = Annotated[
    str,
    typer.Option(
        envvar="ROCKETCONNECT_STORE_URL",
        show_default=False,
        help="Where all are, if not in --data: postgresql://USER:PASSWORD@HOST/DATABASE. Others see it: rather set the variable.",
    ),
]
StoreOption = Annotated[
    list[str] | None, typer.Option("--store", metavar="SERVICE=URL", help="Where the store of one service is; again for more.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="SERVICE", help="This store alone: position, config, cluster, state; again for more. Default: all."
    ),
]
DATA = Path("rocketconnect-data")


def _with_stores(command: Callable[P, R]) -> Callable[P, R]:
    """Makes what goes wrong with stores an error of the command line."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(("services", "rocketconnect")):
                raise
            detail = f"the stores need the package {error.name}: {advice('store')}"
            raise ApiError(Exit.WRONG, {"detail": detail}) from None
        except Unavailable as error:
            raise ApiError(Exit.UNAVAILABLE, {"detail": f"{error.message}. Nothing was changed."}) from None
        except FailedPrecondition as error:
            raise ApiError(Exit.WRONG, {"detail": error.message}) from None

    return with_api(run)


@_with_stores
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that is made.")],
    data: DataOption = DATA,
    store_url: StoreUrlOption = "",
    store: StoreOption = None,
    only: OnlyOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Take the place of a FILE that is there.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Save the stores of all services in a file, while they run: configurations, positions, assignments, logs, sealed secrets.

    It reads the stores itself, so run it where they are reached. What is in topics, files and tables is not saved.
    """
    from rocketconnect_cli.backups import saving
    from rocketconnect_cli.backups.endpoints import ORDER, chosen, places

    found = places(data, store_url, store or [], chosen(only or [], ORDER, "there is"))
    with _database_errors():
        manifest = saving.save(file, found, over=overwrite)
    stores = {service: sum(table.rows for table in kept.tables.values()) for service, kept in manifest.stores.items()}
    document = {"file": str(file), "time": manifest.time, "rocketconnect": manifest.version, "rows": stores}
    what = ", ".join(f"{service} ({counted(rows, 'row')})" for service, rows in stores.items())
    emit(output, document, lambda: f"{file} has the stores as they were at {manifest.time}: {what}")


@_with_stores
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` made.")],
    data: DataOption = DATA,
    store_url: StoreUrlOption = "",
    store: StoreOption = None,
    only: OnlyOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before stores that are there are replaced.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell what becomes of each connector.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make the stores what they were in a backup, all of them or none. Stop all services first.

    Before, it tells of each connector what is read and written again. A backup of an older version is brought to the present one by
    the services when they start.
    """
    from rocketconnect_cli.backups import archive, restoring
    from rocketconnect_cli.backups.endpoints import chosen, places

    with archive.reading(file) as reader:
        services = chosen(only or [], reader.manifest.stores, f"{file} has")
        found = places(data, store_url, store or [], services)
        reader.check()
        restoring.check_revisions(reader, services)
        with _database_errors():
            there = {place: restoring.look(place) for place in found}
        fates = _fates(reader, services, there.values())
        old = [str(place) for place, stores in there.items() if stores]
        document = _document(reader, file, services, old, fates)
        if output is Output.TABLE:
            _tell(reader, file, services, fates)
        if not dry_run:
            if old and not yes:
                _confirm(old)
            with _database_errors():
                restoring.put(reader, found)
    done = "nothing was changed (--dry-run)" if dry_run else f"restored: {', '.join(services)}. Start the services now."
    emit(output, {**document, "restored": not dry_run}, lambda: done)


def _fates(reader: "Reader", services: Sequence[str], there: Iterable[Mapping[str, Any]]) -> "list[Fate]":
    from rocketconnect_cli.backups import told

    then: dict[str, Any] = {}
    if "config" in services:
        then["config_connectors"] = list(reader.rows("config", "config_connectors"))
    if "position" in services:
        then["position_positions"] = reader.rows("position", "position_positions")
    # Which plugin gives what is no matter of the point in time.
    then["config_workers"] = list(reader.rows("config", "config_workers"))
    now = {name: rows for stores in there for tables in stores.values() for name, rows in tables.items()}
    return told.fates(then, now)


def _document(reader: "Reader", file: Path, services: Sequence[str], old: Sequence[str], fates: "Sequence[Fate]") -> dict[str, Any]:
    return {
        "file": str(file),
        "time": reader.manifest.time,
        "rocketconnect": reader.manifest.version,
        "stores": list(services),
        "replaced": list(old),
        "connectors": [fate.to_json() for fate in fates],
    }


def _tell(reader: "Reader", file: Path, services: Sequence[str], fates: "Sequence[Fate]") -> None:
    from rocketconnect_cli.backups import told

    manifest = reader.manifest
    lines = [f"{file}: {', '.join(services)} as they were at {manifest.time}, of RocketConnect {manifest.version}."]
    lines += [f"  {line}" for line in told.lines(fates)] or ["  No connectors."]
    for line in lines:
        err.print(line, markup=False)


def _confirm(old: Sequence[str]) -> None:
    """Asks before stores are replaced.

    Raises:
        ApiError: WRONG: somebody says no, or nobody can be asked.
    """
    what = f"the stores in {', '.join(old)}"
    if not is_asked():
        detail = f"{what} would be replaced, and nobody can be asked here. Save them with `rocketconnect backup`, and say --yes."
        raise ApiError(Exit.WRONG, {"detail": f"{detail} Nothing was changed."})
    if not typer.confirm(f"Replace {what}?", err=True):
        raise ApiError(Exit.WRONG, {"detail": "Nothing was changed."})


@contextmanager
def _database_errors() -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    from rocketconnect_kit.logs import hide_url_passwords

    try:
        yield
    except SQLAlchemyError as error:
        said = hide_url_passwords(str(getattr(error, "orig", None) or error)).strip()
        raise ApiError(Exit.FAILED, {"detail": f"a store can't be used: {said}. Nothing was changed."}) from None
