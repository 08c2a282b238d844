"""The converters, transformations and predicates of Kafka Connect that a configuration names, at work in Java."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.java.machine import reason
from connectors.kafka_connect.handles import Handles
from connectors.kafka_connect.jvm import Java
from rocketconnect_sdk.errors import PermanentError, Problem

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_CONVERTER = "org.apache.kafka.connect.storage.Converter"
_HEADER_CONVERTER = "org.apache.kafka.connect.storage.HeaderConverter"
_PREDICATE = "org.apache.kafka.connect.transforms.predicates.Predicate"
_TRANSFORMATION = "org.apache.kafka.connect.transforms.Transformation"
_NAME_FIX = "Write its full name, as org.apache.kafka.connect.json.JsonConverter."


@dataclass(frozen=True, slots=True)
class Stages:
    """What a configuration names.

    Attributes:
        key: The Converter of keys.
        value: That of values.
        header: The HeaderConverter.
        steps: Transformations in their order, each with its predicate, if any, and whether that is negated.
    """

    key: Any
    value: Any
    header: Any
    steps: Sequence[tuple[Any, Any, bool]]

    def chain(self, handles: Handles, failed: Any) -> list[Any]:
        """The steps as functions; see Handles.step."""
        return [handles.step(apply, test, failed, negate=negate) for apply, test, negate in self.steps]

    def close(self) -> None:
        """Ends all of them; what they raise there harms nobody any more."""
        import jpype

        for each in (self.key, self.value, self.header, *(part for step in self.steps for part in step[:2] if part is not None)):
            try:
                each.close()
            except (jpype.JException, AttributeError):
                continue


def made(java: Java, own: Mapping[str, str]) -> Stages:
    """What the plugin's own options of a configuration name.

    Raises:
        PermanentError: something of it can't be made; all of that is said.
    """
    making = _Making(java, own)
    stages = making.stages()
    if making.problems:
        stages.close()
        raise PermanentError("; ".join(map(str, making.problems)))
    return stages


def problems(java: Java, own: Mapping[str, str]) -> list[Problem]:
    """What is wrong with them."""
    making = _Making(java, own)
    making.stages().close()
    return making.problems


class _Making:
    """Makes them, and goes on where one can't be made, so that everything is told at once."""

    def __init__(self, java: Java, own: Mapping[str, str]) -> None:
        self._java, self._own = java, own
        self.problems: list[Problem] = []

    def stages(self) -> Stages:
        """All; None in the place of what can't be made."""
        key, value = (self._converter(name, is_key=name == "key.converter") for name in ("key.converter", "value.converter"))
        given = self._options("header.converter.")
        given.put("converter.type", "header")
        header = self._made("header.converter", _SIMPLE, _HEADER_CONVERTER, lambda each: each.configure(given))
        predicates = {name: self._named(f"predicates.{name}.", _PREDICATE) for name in self._names("predicates")}
        steps = [self._step(f"transforms.{name}.", predicates) for name in self._names("transforms")]
        self.problems += self._unnamed()
        return Stages(key, value, header, steps)

    def _converter(self, key: str, *, is_key: bool) -> Any:
        given = self._options(f"{key}.")
        if key not in self._own and given.isEmpty():
            given.put("schemas.enable", "false")
        return self._made(key, _JSON, _CONVERTER, lambda each: each.configure(given, is_key))

    def _step(self, begin: str, predicates: Mapping[str, Any]) -> tuple[Any, Any, bool]:
        test = self._own.get(f"{begin}predicate", "")
        if test and test not in predicates:
            fix = "Name it in `predicates`."
            self.problems.append(Problem(f"{begin}predicate", test, "is no predicate of this configuration", fix))
        made = self._named(begin, _TRANSFORMATION, ("predicate", "negate"))
        return made, predicates.get(test), self._own.get(f"{begin}negate", "").strip().lower() == "true"

    def _named(self, begin: str, kind: str, ours: Collection[str] = ()) -> Any:
        """A transformation or a predicate, whose options are those behind `begin`, but for ours."""
        if not self._own.get(f"{begin}type", "").strip():
            self.problems.append(Problem(f"{begin}type", "", "is required and was not given", _NAME_FIX))
            return None
        given = self._options(begin)
        for key in ("type", *ours):
            given.remove(key)
        return self._made(f"{begin}type", "", kind, lambda each: each.configure(given))

    def _made(self, key: str, default: str, kind: str, configure: Callable[[Any], None]) -> Any:
        name, jpype = self._own.get(key, default).strip(), self._java.jpype
        if name and "." not in name:
            found = self._java.whole_names(name, kind)
            if len(found) > 1:
                fix = "Write the full name of the one that is meant."
                self.problems.append(Problem(key, name, f"is short for {' and for '.join(found)}", fix))
                return None
            (name,) = found or (name,)
        try:
            # As in Kafka Connect, what nobody has named is the worker's: plugins bring old ones, made for another Kafka.
            instance = self._java.new(name) if key in self._own else self._java.new_of_kafka(name)
            if isinstance(instance, jpype.JClass(kind)):
                configure(instance)
                return instance
            wrong = Problem(key, name, "is a class of another kind", f"Name a class that is a {kind.rpartition('.')[2]}.")
        except PermanentError as error:
            wrong = Problem(key, name, str(error), _NAME_FIX)
        except (jpype.JException, TypeError) as error:
            why = reason(error) if isinstance(error, jpype.JException) else str(error)
            wrong = Problem(key, name, f"can't be made: {why}", f"Correct the options behind {key.removesuffix('.type')}.")
        self.problems.append(wrong)
        return None

    def _options(self, begin: str) -> Any:
        return self._java.strings({key.removeprefix(begin): text for key, text in self._own.items() if key.startswith(begin)})

    def _names(self, key: str) -> list[str]:
        return list(dict.fromkeys(filter(None, map(str.strip, self._own.get(key, "").split(",")))))

    def _unnamed(self) -> Iterator[Problem]:
        for key in ("transforms", "predicates"):
            names = self._names(key)
            for option in self._own:
                if option.startswith(f"{key}.") and (name := option.split(".")[1]) not in names:
                    yield Problem(option, "", f"is of {name}, which {key} does not name", f"Name {name} in {key}, or remove it.")
