"""Whether rows of the topics belong together, and with what is in their directory or file already. Pure but for looks at files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from connectors.file_sink.columns import DIRECTORY, FOLDED_FIX, folded, named
from connectors.file_sink.header import header_problem
from connectors.file_sink.there import names_there, of_topics, type_problems
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, as_table, is_of_another, same_but_for_case
from rocketconnect_sdk.evolution.held import rows_problems
from rocketconnect_sdk.evolution.numbers import has_all
from rocketconnect_sdk.evolution.tables import Kind, differences, nullable
from rocketconnect_sdk.files.appended import remembered_of
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.wording.counts import counted

_NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)
_SHOWN = 10
_FIX_TOPICS = "Give each of these topics a sink of its own, with another {}."
_FIX_PLACE = "Write into another {}, or move what is there away first."


def directory_problems(config: Config, rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows that are to go into one directory of Parquet or ORC files; see Sink.check_rows."""
    tables = {topic: nullable(as_table(schema)) for topic, schema in rows.items()}
    yield from topics_problems(config, rows, "directory")
    root, form = Path(config["filename"]), config["format"]
    if not of_topics(root).isdisjoint(config["topics"]):
        # What its own topics have there, the sink goes on with as schema.evolution says.
        if _policy(config, Policy.EVOLVE) is Policy.EVOLVE and (there := names_there(root, form)):
            is_tolerant = config["errors.tolerance"] == "all"
            for topic, table in tables.items():
                place, said = ("filename", config["filename"]), f"the rows of `{topic}`"
                yield from rows_problems(place, said, named(there, table), table, Policy.EVOLVE, DIRECTORY, is_tolerant=is_tolerant)
        return
    fix = _FIX_PLACE.format("directory")
    for topic, table in tables.items():
        clashes = [
            f"the column {name} as {wanted}, and {path} as {other}"
            for name, wanted, other, path in type_problems(root, form, _flat(table))
        ]
        if clashes:
            reason = f"has files with other types: the rows of `{topic}` have {_joined(clashes)}"
            yield Problem("filename", config["filename"], reason, fix)
            return
        if (there := names_there(root, form)) and (told := _other_names(there, table)):
            reason = f"has files of another table: the rows of `{topic}` are {told}; readers get nulls in what either lacks"
            yield Problem("filename", config["filename"], reason, fix, is_warning=True)
            return


def file_problems(config: Config, rows: Mapping[str, Schema], delimiter: str) -> Iterator[Problem]:
    """What is wrong with rows that are to go into one CSV file; see Sink.check_rows."""
    tables = {topic: nullable(as_table(schema)) for topic, schema in rows.items()}
    yield from topics_problems(config, rows, "file")
    path = Path(config["filename"])
    remembered = remembered_of(path).get("columns")
    for topic, table in tables.items():
        names = [field.name for field in table.fields]
        if remembered is None:
            reason = header_problem(path, delimiter, names) if config["csv.header"] else None
            is_warning = False
        else:
            new = [change.name for change in differences(named(remembered, table), table) if change.kind is Kind.NEW]
            reason = f"the file has {counted(remembered, 'column')} already, without {_listed(new)}" if new else None
            policy = _policy(config, Policy.FAIL)
            is_warning = policy is not Policy.FAIL
            if policy is Policy.IGNORE and len(new) == len(table.fields):
                reason = f"{reason}: they are of another table, and all of them would be bad records"
                is_warning = config["errors.tolerance"] == "all"
        if reason:
            reason = f"does not take the rows of `{topic}`: {reason}"
            yield Problem("filename", config["filename"], reason, _FIX_PLACE.format("file"), is_warning=is_warning)
            return


def topics_problems(config: Config, rows: Mapping[str, Schema], place: str) -> Iterator[Problem]:
    """What is wrong with topics whose rows are to be one table.

    Args:
        config: Of a sink with the options of every sink, and schema.evolution.
        rows: By topic; see Sink.check_rows.
        place: Where they go: a directory, a table, or a file, which gets no more columns.
    """
    if place != "file":
        for topic, schema in rows.items():
            if told := same_but_for_case(as_table(schema)):
                reason = f"have rows that are no table: {folded(told)}; all of those of `{topic}` would be bad records"
                is_warning = config["errors.tolerance"] == "all"
                yield Problem("topics", ",".join(config["topics"])[:200], reason, f"{FOLDED_FIX}.", is_warning=is_warning)
                return
    (first, one), *others = ((topic, nullable(as_table(schema))) for topic, schema in rows.items())
    policy = _policy(config, Policy.FAIL if place == "file" else Policy.EVOLVE)
    is_tolerant = config["errors.tolerance"] == "all" or policy is Policy.IGNORE
    shown = ",".join(config["topics"])[:200]
    fix = _FIX_TOPICS.format(place)
    for topic, other in others:
        if clashes := [f"{name} is {mine} in `{first}`, and {its} in `{topic}`" for name, mine, its in _clashes(one, other)]:
            reason = f"have rows that are no one table: {_joined(clashes)}"
            yield Problem("topics", shown, reason, fix, is_warning=is_tolerant)
            return
        if told := _other_names([field.name for field in one.fields], other):
            reason = f"have rows of different tables for one {place}: those of `{topic}` are {told}, beside those of `{first}`"
            is_warning = is_tolerant or policy is not Policy.FAIL
            if policy in (Policy.EVOLVE, Policy.IGNORE) and is_of_another(one, other):
                reason += "; they have no column in common, so whichever come second would be bad records"
                is_warning = config["errors.tolerance"] == "all"
            yield Problem("topics", shown, reason, fix, is_warning=is_warning)
            return


def _policy(config: Config, default: Policy) -> Policy:
    return Policy(config[POLICY.key] or default)


def _flat(table: Schema) -> Schema:
    """Without columns that have parts: they may differ in these, and be read together."""
    return Schema(Type.STRUCT, fields=tuple(field for field in table.fields if field.schema.type not in _NESTED))


def _clashes(one: Schema, other: Schema) -> Iterator[tuple[str, str, str]]:
    """The columns that are there in two types of which neither has the values of the other; and both."""
    types = {field.name: field.schema for field in _flat(one).fields}
    for field in _flat(other).fields:
        mine = types.get(field.name)
        if mine is not None and not has_all(mine, field.schema) and not has_all(field.schema, mine):
            yield field.name, type_name(mine), type_name(field.schema)


def _joined(told: Sequence[str]) -> str:
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more


def _other_names(there: list[str], table: Schema) -> str:
    """How the names of columns differ; empty: they do not."""
    names = [field.name for field in table.fields]
    without, more = [name for name in there if name not in names], [name for name in names if name not in there]
    told = [f"without {_listed(without)}" if without else "", f"with {_listed(more)}" if more else ""]
    return " and ".join(filter(None, told))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
