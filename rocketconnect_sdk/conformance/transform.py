"""The suite that every transform has to pass: one record and many, rows and columns give the same, and nothing given is changed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.rows import array_of
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms import transform_class
from rocketconnect_sdk.transforms.base import Record, Records, Transform, in_order, one_by_one
from rocketconnect_sdk.transforms.chain import Chain, Step, configured


@dataclass(frozen=True, slots=True)
class Example:
    """A record, and what becomes of it.

    Attributes:
        config: The options of the transform, without its type.
        given: What comes in.
        expected: What comes out; None: it is dropped; a text: a part of the reason why it can't be changed.
    """

    config: Mapping[str, str]
    given: Record
    expected: Record | str | None


class TransformSuite(ABC):
    """Derive a class from it, whose name begins with Test, and give the transform and examples.

    Class attributes:
        transform: The class of the transform, or the name of one that is installed, as users write it.
        wrong: Configurations that are refused: their options, and a part of what is said.
    """

    transform: ClassVar[str | type[Transform]]
    wrong: ClassVar[Sequence[tuple[Mapping[str, str], str]]] = ()

    @abstractmethod
    def examples(self) -> Sequence[Example]:
        """At least one of everything that it does, and of each of its options."""

    def test_each_example_becomes_what_it_should(self) -> None:
        """One by one."""
        for transform, alike in self._by_config():
            for example in alike:
                found = _one(transform, example.given)
                if isinstance(example.expected, str):
                    assert isinstance(found, Exception), (example, found)
                    assert example.expected in str(found), (example, found)
                else:
                    assert found == example.expected, example

    def test_many_records_become_what_each_becomes(self) -> None:
        """Without and with a bad one, a tombstone and others between them."""
        for transform, alike in self._by_config():
            others, good = [example.given for example in alike], _good(alike)
            if good:
                _compare(transform, good)
            for example in alike:
                tombstone = replace(example.given, value=None)
                _compare(transform, [example.given] * 3)
                _compare(transform, [example.given, tombstone, *others, tombstone])

    def test_columns_become_what_rows_become(self) -> None:
        """Values and keys as Arrow columns, where Arrow has them."""
        for transform, alike in self._by_config():
            pairs = [pair for each in alike for pair in ([each.given] * 2, [each.given, replace(each.given, value=None)])]
            for given in (*pairs, _good(alike)):
                for records in in_order(enumerate(map(_copied, given))):
                    columns = _as_columns(records)
                    if columns is not None:
                        assert _many(transform, columns) == _many(transform, records), given

    def test_nothing_that_is_given_is_changed(self) -> None:
        """The value, the key and the headers stay: others may hold them."""
        for transform, alike in self._by_config():
            for example in alike:
                given = _copied(example.given)
                _one(transform, replace(given))
                assert given == example.given

    def test_wrong_options_are_refused(self) -> None:
        """With the option and what to do."""
        for config, part in self.wrong:
            with pytest.raises(ConfigError) as refused, self._made(config):
                pass
            told = [str(problem) for problem in refused.value.problems]
            assert any(part in each for each in told), (config, part, told)

    def _by_config(self) -> Iterator[tuple[Transform, Sequence[Example]]]:
        """A transform for each configuration, with its examples."""
        left = list(self.examples())
        while left:
            config = left[0].config
            with self._made(config) as transform:
                yield transform, [example for example in left if example.config == config]
            left = [example for example in left if example.config != config]

    @contextmanager
    def _made(self, config: Mapping[str, str]) -> Iterator[Transform]:
        kind, said = transform_class(self.transform) if isinstance(self.transform, str) else (self.transform, {})
        parsed, wrong = configured(kind, {**said, **config})
        if wrong:
            raise ConfigError([replace(problem, key=f"transforms.x.{problem.key}") for problem in wrong])
        transform = kind(parsed)
        try:
            yield transform
        finally:
            transform.close()


def _good(examples: Sequence[Example]) -> list[Record]:
    return [example.given for example in examples if not isinstance(example.expected, str)]


def _many(transform: Transform, records: Records) -> tuple[list[tuple[int, Record]], dict[int, str]]:
    done = Chain([Step("x", transform)]).run(records)
    found = [(index, _plain(record)) for index, record in one_by_one(done.runs)]
    return found, {index: type(failed.error).__name__ for index, failed in done.failed.items()}


def _compare(transform: Transform, given: Sequence[Record]) -> None:
    expected: list[tuple[int, Record]] = []
    failed: dict[int, str] = {}
    for index, record in enumerate(given):
        one = _one(transform, _copied(record))
        if isinstance(one, Exception):
            failed[index] = type(one).__name__
        elif one is not None:
            expected.append((index, one))
    for records in in_order(enumerate(map(_copied, given))):
        found, broken = _many(transform, records)
        here = set(records.indexes)
        assert found == [(index, _plain(record)) for index, record in expected if index in here]
        assert broken == {index: name for index, name in failed.items() if index in here}


def _one(transform: Transform, given: Record) -> Record | Exception | None:
    try:
        return transform.apply(replace(given))
    except Exception as error:  # which one is what is looked at
        return error


def _copied(record: Record) -> Record:
    return replace(record, value=deepcopy(record.value), key=deepcopy(record.key), headers=dict(record.headers))


def _plain(record: Record) -> Record:
    """Of a tombstone and of a record without a key the schema says nothing."""
    return replace(
        record,
        schema=None if record.value is None else record.schema,
        key_schema=None if record.key is None else record.key_schema,
    )


def _as_columns(records: Records) -> Records | None:
    """With values and keys as Arrow columns; None: Arrow has neither."""
    values = _column(records.values, records.schema)
    keys = None if records.keys is None else _column(records.keys, records.key_schema)
    if values is None and keys is None:
        return None
    return replace(records, values=records.values if values is None else values, keys=records.keys if keys is None else keys)


def _column(values: Sequence[object], schema: Schema | None) -> Column | None:
    if schema is None:
        return None
    try:
        array_of(values, schema)
        return Column(to_array(values, schema))
    except Exception:
        return None
