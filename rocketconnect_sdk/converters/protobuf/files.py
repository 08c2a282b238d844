"""The text of .proto files as descriptors of Protobuf's own library: the only place where that is used."""

import posixpath
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct, Value

from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway

__all__ = [
    "FAILED",
    "Descriptor",
    "FieldDescriptor",
    "FileDescriptor",
    "Message",
    "compiled",
    "message_class",
    "said",
    "sorts_maps_so",
]

FAILED = (DecodeError, EncodeError)
"""What is raised for bytes that are no message, and for a message that lacks what it must have."""

_MAIN = "rocketconnect_main.proto"
_SECONDS = 60
_LONGEST = 4_000_000
"""Characters of a schema with all that it refers to."""

_DECIMAL = """
syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
"""
_META = """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  repeated Rule rules = 4;
}
message Rule {
  string name = 1;
  string doc = 2;
  string expr = 3;
  string sql = 4;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""
_OURS = {"confluent/meta.proto": _META, "confluent/type/decimal.proto": _DECIMAL, "confluent/types/decimal.proto": _DECIMAL}
_OPTION = 1088
"""The number of what confluent/meta.proto adds to options."""


def compiled(text: str, references: Mapping[str, str]) -> FileDescriptor:
    """The descriptor of a .proto file, in a pool of its own.

    Args:
        text: The file.
        references: By the names that it imports, the texts of other files. What Confluent's registry knows by itself
            (google/protobuf, google/type, confluent) need not be there.

    Raises:
        RecordError: it is no .proto file, or one that misses an import.
        SystemAway: the compiler could not be run, or did not end.
        PermanentError: it is not installed.
    """
    if len(text) + sum(map(len, references.values())) > _LONGEST:
        msg = f"it has more than {_LONGEST} characters"
        raise RecordError(msg)
    with TemporaryDirectory(prefix="rocketconnect-proto-") as directory:
        root = Path(directory)
        for name, content in {**references, **_known([text, *references.values()]), _MAIN: text}.items():
            _write(root, name, content)
        files = _descriptors(root)
    pool = DescriptorPool()
    try:
        for file in files.file:
            pool.AddSerializedFile(file.SerializeToString())
        return pool.FindFileByName(_MAIN)
    except (TypeError, ValueError, KeyError) as error:
        msg = f"it is no .proto file: {str(error)[:300]}"
        raise RecordError(msg) from None


def message_class(descriptor: Descriptor) -> type[Message]:
    """The class of the messages of a descriptor."""
    return GetMessageClass(descriptor)


def said(described: Descriptor | FieldDescriptor) -> tuple[str, dict[str, str]]:
    """The documentation and the parameters that confluent/meta.proto adds to a message or a field."""
    found: Any = _options()()
    found.ParseFromString(described.GetOptions().SerializeToString())
    return found.meta.doc, {one.key: one.value for one in found.meta.params}


def _write(root: Path, name: str, content: str) -> None:
    path = root / name
    if name != posixpath.normpath(name) or name.startswith(("/", ".")) or not re.fullmatch(r"[\w./ -]{1,200}", name):
        msg = f"it imports {name[:100]!r}, which is no path of a file"
        raise RecordError(msg)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except UnicodeEncodeError:
        msg = "its text is no Unicode"
        raise RecordError(msg) from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        msg = f"it imports {name[:100]!r} and another file whose path begins so"
        raise RecordError(msg) from None
    except OSError as error:
        msg = f"a Protobuf schema could not be written to a temporary directory: {error}"
        raise SystemAway(msg) from None


def _known(texts: list[str]) -> Mapping[str, str]:
    """Files that every registry and reader has, as far as the texts name them."""
    asked = {name for text in texts for name in re.findall(r"google/type/\w+\.proto", text)}
    found = dict(_OURS)
    # google/type/datetime.proto imports what is not named: all of them are few.
    if asked:
        found |= _google_types()
    return found


@cache
def _google_types() -> Mapping[str, str]:
    spec = find_spec("google.type")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return {f"google/type/{path.name}": path.read_text("utf-8") for place in places for path in Path(place).glob("*.proto")}


def _descriptors(root: Path) -> descriptor_pb2.FileDescriptorSet:
    if find_spec("grpc_tools") is None:
        msg = "the converter protobuf needs grpcio-tools: install rocketconnect[executor]"
        raise PermanentError(msg)
    out = root / "rocketconnect_main.bin"
    # A process of its own: what it says of a schema is read from it, and a schema that breaks it breaks nothing else.
    command = [
        sys.executable,
        "-P",
        "-m",
        "grpc_tools.protoc",
        f"-I{root}",
        "--include_imports",
        f"--descriptor_set_out={out}",
        _MAIN,
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"the compiler of Protobuf schemas could not be run: {error}"
        raise SystemAway(msg) from None
    if -done.returncode in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        msg = f"the compiler of Protobuf schemas was ended by the signal {-done.returncode}"
        raise SystemAway(msg)
    if done.returncode != 0:
        said_there = done.stderr.decode("utf-8", "replace").replace(f"{root}/", "").replace(_MAIN, "line")
        why = "; ".join(said_there.splitlines())[:500] or f"the compiler broke with {done.returncode}"
        msg = f"it is no .proto file that can be compiled: {why}"
        raise RecordError(msg)
    return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


@cache
def _options() -> type[Message]:
    """Reads what confluent/meta.proto adds to options of any kind, and passes over the rest of them."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="rocketconnect/options.proto", package="rocketconnect", syntax="proto3")
    for message, fields in (
        ("Param", (("key", 1, ""), ("value", 2, ""))),
        ("Meta", (("doc", 1, ""), ("params", 2, "Param"))),
        ("Options", (("meta", _OPTION, "Meta"),)),
    ):
        made = file.message_type.add(name=message)
        for name, number, other in fields:
            made.field.add(
                name=name,
                number=number,
                label=kind.LABEL_REPEATED if other == "Param" else kind.LABEL_OPTIONAL,
                type=kind.TYPE_MESSAGE if other else kind.TYPE_STRING,
                type_name=f".rocketconnect.{other}" if other else None,
            )
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("rocketconnect.Options"))


@cache
def sorts_maps_so() -> bool:
    """Whether the library that is installed writes the entries of a map in the order that columns.py knows: others may not."""
    written = Struct(fields={key: Value() for key in ("a", "b", "ab")}).SerializeToString(deterministic=True)
    return written == b"\n\x06\n\x02ab\x12\x00\n\x05\n\x01a\x12\x00\n\x05\n\x01b\x12\x00"
