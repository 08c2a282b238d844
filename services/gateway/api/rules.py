"""The REST form of each RPC, read from the google.api.http annotations of the descriptors. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from rocketconnect.access.v1 import access_service_pb2
from rocketconnect.cluster.v1 import cluster_service_pb2
from rocketconnect.config.v1 import config_service_pb2
from rocketconnect.deadletter.v1 import deadletter_service_pb2
from rocketconnect.executor.v1 import executor_service_pb2
from rocketconnect.keystore.v1 import keystore_service_pb2
from rocketconnect.logging.v1 import logging_service_pb2
from rocketconnect.position.v1 import position_service_pb2
from rocketconnect.state.v1 import state_service_pb2
from rocketconnect.topic.v1 import topic_service_pb2

FILES: Sequence[FileDescriptor] = (
    config_service_pb2.DESCRIPTOR,
    keystore_service_pb2.DESCRIPTOR,
    position_service_pb2.DESCRIPTOR,
    state_service_pb2.DESCRIPTOR,
    cluster_service_pb2.DESCRIPTOR,
    executor_service_pb2.DESCRIPTOR,
    deadletter_service_pb2.DESCRIPTOR,
    topic_service_pb2.DESCRIPTOR,
    logging_service_pb2.DESCRIPTOR,
    access_service_pb2.DESCRIPTOR,
)
"""The services that REST shows."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to call an RPC over HTTP.

    Attributes:
        verb: The HTTP method.
        template: The path, its variables in braces.
        variables: Their names: fields of the request.
        body: "*": every field that the path does not bind; a field's name: that one; "": none.
        method: The RPC.
    """

    verb: str
    template: str
    variables: tuple[str, ...]
    body: str
    method: MethodDescriptor

    @property
    def service(self) -> str:
        """Return the service that answers: "config"."""
        return str(self.method.containing_service.full_name.split(".")[1])

    @property
    def streams(self) -> bool:
        """Return whether the answer is a stream."""
        return bool(self.method.server_streaming)


def rules(files: Sequence[FileDescriptor] = FILES) -> list[Rule]:
    """Return all rules of these files, in the order in which they are written.

    Raises:
        ValueError: an annotation that this gateway can't follow.
    """
    return [
        rule
        for file in files
        for service in file.services_by_name.values()
        for method in service.methods
        for rule in _of_method(method)
    ]


def _of_method(method: MethodDescriptor) -> Iterator[Rule]:
    options = method.GetOptions()
    if not options.HasExtension(annotations_pb2.http):
        return
    annotation = options.Extensions[annotations_pb2.http]
    for binding in (annotation, *annotation.additional_bindings):
        yield _rule(binding, method)


def _rule(binding: http_pb2.HttpRule, method: MethodDescriptor) -> Rule:
    kind = binding.WhichOneof("pattern")
    if kind is None or kind == "custom" or binding.response_body or method.client_streaming:
        msg = f"{method.full_name}: only get, put, post, delete and patch of unary requests, without response_body, can be served"
        raise ValueError(msg)
    template = str(getattr(binding, kind))
    variables = tuple(part.split("}")[0] for part in template.split("{")[1:])
    unknown = [
        name for name in (*variables, binding.body) if name not in ("", "*") and name not in method.input_type.fields_by_name
    ]
    if unknown:
        msg = f"{method.full_name}: {template} names {', '.join(unknown)}, which its request has not"
        raise ValueError(msg)
    return Rule(kind.upper(), template, variables, binding.body, method)
