"""Whether data of one Avro schema can be read with another: Avro's rules of schema resolution."""

from collections.abc import Mapping
from typing import Any

_PROMOTED = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


def conflicts(reader: Any, writer: Any) -> list[str]:
    """Why data written with one schema can't be read with the other; empty: they can."""
    found: list[str] = []
    _compare(_resolved(reader), _resolved(writer), "/", found, set())
    return found


def _compare(reader: Any, writer: Any, path: str, found: list[str], seen: set[tuple[int, int]]) -> None:
    if (id(reader), id(writer)) in seen:
        return
    seen = seen | {(id(reader), id(writer))}
    if isinstance(writer, list):
        for number, branch in enumerate(writer):
            _compare(reader, branch, f"{path}{number}/", found, seen)
        return
    if isinstance(reader, list):
        tries: list[list[str]] = []
        for branch in reader:
            tries.append([])
            _compare(branch, writer, path, tries[-1], seen)
        if all(tries):
            found.append(f"{path}: MISSING_UNION_BRANCH: the reader's union has no branch for {_kind(writer)}")
        return
    kinds = _kind(reader), _kind(writer)
    if kinds[0] != kinds[1]:
        if kinds[0] not in _PROMOTED.get(kinds[1], ()):
            found.append(
                f"{path}: TYPE_MISMATCH: reader type {kinds[0].upper()} not compatible with writer type {kinds[1].upper()}"
            )
        return
    if kinds[0] in ("record", "enum", "fixed") and _short(reader) != _short(writer) and _short(writer) not in _aliases(reader):
        found.append(f"{path}name: NAME_MISMATCH: expected {_short(writer)}, and the reader has {_short(reader)}")
    _same_kind(kinds[0], reader, writer, path, found, seen)


def _same_kind(kind: str, reader: Any, writer: Any, path: str, found: list[str], seen: set[tuple[int, int]]) -> None:
    match kind:
        case "record":
            written = {field["name"]: field for field in writer["fields"]}
            for number, field in enumerate(reader["fields"]):
                names = [field["name"], *field.get("aliases", ())]
                its = next((written[name] for name in names if name in written), None)
                where = f"{path}fields/{number}/"
                if its is not None:
                    _compare(field["type"], its["type"], f"{where}type/", found, seen)
                elif "default" not in field:
                    found.append(f"{where}: READER_FIELD_MISSING_DEFAULT_VALUE: {field['name']}")
        case "enum":
            missing = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
            if missing and "default" not in reader:
                found.append(f"{path}symbols: MISSING_ENUM_SYMBOLS: {missing}")
        case "fixed" if reader["size"] != writer["size"]:
            found.append(f"{path}size: FIXED_SIZE_MISMATCH: expected {writer['size']}, found {reader['size']}")
        case "array":
            _compare(reader["items"], writer["items"], f"{path}items/", found, seen)
        case "map":
            _compare(reader["values"], writer["values"], f"{path}values/", found, seen)


def _kind(form: Any) -> str:
    return str(form["type"])


def _short(form: Mapping[str, Any]) -> str:
    return str(form["name"]).rpartition(".")[2]


def _aliases(form: Mapping[str, Any]) -> list[str]:
    return [alias.rpartition(".")[2] for alias in form.get("aliases", ())]


def _resolved(form: Any, space: str = "", known: dict[str, Any] | None = None) -> Any:
    """A schema in which every type is an object and no name stands for one."""
    known = {} if known is None else known
    if isinstance(form, list):
        return [_resolved(branch, space, known) for branch in form]
    if isinstance(form, str):
        full = form if "." in form or not space else f"{space}.{form}"
        return known.get(full) or known.get(form) or {"type": form}
    if isinstance(form["type"], (dict, list)):
        return _resolved(form["type"], space, known)
    made = dict(form)
    if form["type"] in ("record", "enum", "fixed"):
        name: str = form["name"]
        space = name.rpartition(".")[0] if "." in name else form.get("namespace", space)
        known[name if "." in name or not space else f"{space}.{name}"] = made
    if form["type"] == "record":
        made["fields"] = [{**field, "type": _resolved(field["type"], space, known)} for field in form["fields"]]
    for part in ("items", "values"):
        if part in form:
            made[part] = _resolved(form[part], space, known)
    return made if form["type"] in ("record", "enum", "fixed", "array", "map") else _resolved(form["type"], space, known)
