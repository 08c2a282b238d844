"""Converters: records to message bytes and back. Found by name; their modules are imported when they are asked for."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import parse

__all__ = ["BUILT_IN", "Converter", "class_names", "converter", "converter_class"]

_JAVA = "org.apache.rocketmq.connect.runtime.converter.record."
_ROWS = (
    ("string", "text:StringConverter", "StringConverter"),
    ("bytes", "text:BytesConverter", "ByteArrayConverter"),
    ("json", "json:JsonConverter", "json.JsonConverter"),
    ("short", "numbers:ShortConverter", "ShortConverter"),
    ("integer", "numbers:IntegerConverter", "IntegerConverter"),
    ("long", "numbers:LongConverter", "LongConverter"),
    ("float", "numbers:FloatConverter", "FloatConverter"),
    ("double", "numbers:DoubleConverter", "DoubleConverter"),
)

BUILT_IN: Mapping[str, str] = {name: f"{__name__}.{place}" for name, place, _ in _ROWS}
"""By name: "module:class" of each converter that comes with the SDK."""

_CLASS_NAMES = {name: (_JAVA + java, java.rpartition(".")[2]) for name, _, java in _ROWS}
_ALIASES = {alias: name for name, aliases in _CLASS_NAMES.items() for alias in aliases}


def class_names(name: str) -> Sequence[str]:
    """The names that RocketMQ Connect has for the class of a built-in converter: with its package, and without."""
    return _CLASS_NAMES[name]


def converter_class(name: str) -> type[Converter]:
    """The class of a converter, by its name or by the class name that RocketMQ Connect has for it.

    Raises:
        ConfigError: there is none of that name.
    """
    place = BUILT_IN.get(_ALIASES.get(name, name))
    if place is None:
        raise ConfigError([Problem("", name, "is not a converter", f"Use one of {', '.join(BUILT_IN)}.")])
    module, _, class_name = place.partition(":")
    found = getattr(import_module(module), class_name)
    if not (isinstance(found, type) and issubclass(found, Converter)):
        msg = f"{place} is no Converter"
        raise TypeError(msg)
    return found


def converter(name: str, config: Mapping[str, str], *, is_key: bool) -> Converter:
    """A converter, ready to use.

    Args:
        name: Its name or alias.
        config: Its options as written, without the prefix "key.converter." or "value.converter.".
        is_key: It is used for keys.

    Raises:
        ConfigError: no such converter, or its options are wrong.
    """
    found = converter_class(name)
    return found(parse(found.options, config), is_key=is_key)
