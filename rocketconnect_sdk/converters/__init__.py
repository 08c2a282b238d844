"""Converters: records to message bytes and back. Found by name; their modules are imported when they are asked for.

A package offers its converters by an entry point for each, whose name is the converter's, in its pyproject.toml:

    [project.entry-points."rocketconnect.converters"]
    cbor = "weather_connect.cbor:CborConverter"
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.plugins import installed as packages

__all__ = ["BUILT_IN", "GROUP", "Converter", "class_names", "converter", "converter_class", "installed"]

GROUP = "rocketconnect.converters"

_JAVA = "org.apache.rocketmq.connect.runtime.converter.record."
_ROWS = (
    ("string", "text:StringConverter", "StringConverter"),
    ("bytes", "text:BytesConverter", "ByteArrayConverter"),
    ("json", "json.converter:JsonConverter", "json.JsonConverter"),
    ("arrow", "arrow:ArrowConverter", ""),
    ("short", "numbers:ShortConverter", "ShortConverter"),
    ("integer", "numbers:IntegerConverter", "IntegerConverter"),
    ("long", "numbers:LongConverter", "LongConverter"),
    ("float", "numbers:FloatConverter", "FloatConverter"),
    ("double", "numbers:DoubleConverter", "DoubleConverter"),
    ("avro", "avro.converter:AvroConverter", ""),
    ("json_schema", "json.registered:JsonSchemaConverter", ""),
    ("protobuf", "protobuf.converter:ProtobufConverter", ""),
    ("canal", "changes.canal:CanalConverter", ""),
    ("maxwell", "changes.maxwell:MaxwellConverter", ""),
    ("cloudevents", "cloudevents.converter:CloudEventsConverter", ""),
)

BUILT_IN: Mapping[str, str] = {name: f"{__name__}.{place}" for name, place, _ in _ROWS}
"""By name: "module:class" of each converter that comes with the SDK."""

_CONFLUENT = {
    "avro": "io.confluent.connect.avro.AvroConverter",
    "json_schema": "io.confluent.connect.json.JsonSchemaConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
}
"""What Kafka Connect's users write. RocketMQ's own registry, and the converters for it, have other forms."""

_KAFKA = "org.apache.kafka.connect."
_KAFKA_ROOMS = {"string": "storage.", "json": ""}
"""Where Kafka Connect has the classes that are not among its converters; the names of the classes are the same."""


def _names(name: str, java: str) -> tuple[str, ...]:
    if not java:
        return ()
    kafka = _KAFKA + _KAFKA_ROOMS.get(name, "converters.") + java
    return _JAVA + java, kafka, java.rpartition(".")[2]


_CLASS_NAMES = {
    **{name: _names(name, java) for name, _, java in _ROWS},
    **{name: (java, java.rpartition(".")[2]) for name, java in _CONFLUENT.items()},
}
_ALIASES = {alias: name for name, aliases in _CLASS_NAMES.items() for alias in aliases}


def class_names(name: str) -> Sequence[str]:
    """The names that RocketMQ Connect, or Kafka Connect, has for the class of a converter: with its package, and without."""
    return _CLASS_NAMES.get(name, ())


def installed() -> Mapping[str, EntryPoint]:
    """The converters of installed packages, by name; none of them is loaded. Those that come with the SDK keep their names."""
    return packages.installed(GROUP, BUILT_IN)


def converter_class(name: str) -> type[Converter]:
    """The class of a converter, by its name or by the class name that RocketMQ Connect or Kafka Connect has for it.

    Raises:
        ConfigError: there is none of that name, or it could not be loaded.
    """
    place = BUILT_IN.get(_ALIASES.get(name, name))
    if place is not None:
        module, _, class_name = place.partition(":")
        return _checked(getattr(import_module(module), class_name), name)
    return packages.load_installed(GROUP, BUILT_IN, name, "converter", partial(_checked, name=name))


def _checked(found: object, name: str) -> type[Converter]:
    if not (isinstance(found, type) and issubclass(found, Converter)):
        msg = f"{found!r} is no Converter"
        raise TypeError(msg)
    if found.name != name and name not in _ALIASES:
        msg = f"the converter is called {found.name!r}, and its entry point {name!r}"
        raise ValueError(msg)
    return found


def converter(name: str, config: Mapping[str, str], *, is_key: bool) -> Converter:
    """A converter, ready to use.

    Args:
        name: Its name or alias.
        config: Its options, without the prefix "key.converter." or "value.converter."; references to secrets are resolved in them.
        is_key: It is used for keys.

    Raises:
        ConfigError: no such converter, or its options are wrong.
    """
    found = converter_class(name)
    # That a secret is given as a reference is checked where the configuration is, before that is resolved.
    options = [replace(option, secret=False) for option in found.options]
    parsed = parse(options, config)
    if problems := list(found.check(parsed)):
        raise ConfigError(problems)
    return found(parsed, is_key=is_key)
