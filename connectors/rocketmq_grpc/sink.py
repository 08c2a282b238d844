"""Topics of ours into topics of a cluster of RocketMQ that is reached by gRPC."""

from collections.abc import Iterable
from contextlib import closing
from types import MappingProxyType

from connectors.rocketmq.messages import PLACE
from connectors.rocketmq.options import CLUSTER_IDS, cluster_problems, names_problems
from connectors.rocketmq.source import converter_problems
from connectors.rocketmq_grpc.options import AWAY, CHECK_SECONDS, DELIVER, GROUP, REFUSED, SERVER, certificate_problems
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import FORM, Addressing, Connection, Template, WriteSink, template_option


class RocketmqGrpcSink(WriteSink):
    """Sends messages whole to topics of a cluster that has an endpoint of gRPC, at least once."""

    name = "rocketmq_grpc_sink"
    guarantee = Guarantee.AT_LEAST_ONCE
    whole_messages = True
    defaults = MappingProxyType({**WriteSink.defaults, "value.converter": "bytes"})
    options = (
        *SERVER,
        *CLUSTER_IDS,
        template_option(
            "target.topic",
            f"The topic of the other cluster, which has to be there. {FORM} stand for what a record has.",
            "${topic}",
        ),
        template_option(
            GROUP,
            f"The message group, which makes messages those of a FIFO topic: those of one group keep their order. {FORM} stand for "
            "what a record has. Empty: the group that the message has, and none where it has none.",
        ),
        template_option(
            DELIVER,
            f"When messages are delivered, in milliseconds since 1970, which makes them those of a DELAY topic. {FORM} stand for "
            "what a record has. Empty: at once.",
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(
            config, cluster_problems, certificate_problems, names_problems, converter_problems, _type_problems, _cluster_problems
        )

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        more = {name: Template.of(config[name]) for name in (GROUP, DELIVER) if config[name]}
        return Addressing(target=Template.of(config["target.topic"]), more={**PLACE, **more}, messages=True)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.rocketmq_grpc.connection import GrpcConnection

        return GrpcConnection(config, f"rocketconnect-{context.connector_uid}-{context.task}")


def _type_problems(config: Config) -> Iterable[Problem]:
    if config[GROUP] and config[DELIVER]:
        why = f"can't be given beside {GROUP}: a message of a group is delivered in its turn"
        yield Problem(DELIVER, config[DELIVER], why, "Remove one of them.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)):
        return
    from connectors.rocketmq_grpc.connection import GrpcConnection
    from connectors.rocketmq_grpc.faults import NotThere

    topic: str = config["target.topic"]
    seconds = min(CHECK_SECONDS, config["request.timeout"])
    with closing(GrpcConnection(config, "rocketconnect-check", seconds)) as connection:
        connection.ping()
        if "$" in topic:
            return
        try:
            types = connection.types_of(topic)
        except NotThere as error:
            yield Problem("target.topic", topic, str(error), "Create it, or correct its name.", is_warning=True)
            return
    yield from _misfit(config, topic, types)


def _misfit(config: Config, topic: str, types: frozenset[int]) -> Iterable[Problem]:
    """What the messages will be, and the topic does not take."""
    from connectors.rocketmq_grpc.messages import type_name
    from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb

    takes = " and ".join(sorted(map(type_name, types)))
    if config[GROUP] and pb.FIFO not in types:
        yield Problem(GROUP, config[GROUP], f"makes FIFO messages, and the topic {topic} takes {takes}", "Remove it.")
    elif config[DELIVER] and pb.DELAY not in types:
        yield Problem(DELIVER, config[DELIVER], f"makes DELAY messages, and the topic {topic} takes {takes}", "Remove it.")
    elif not config[GROUP] and not config[DELIVER] and pb.NORMAL not in types:
        option = {pb.FIFO: GROUP, pb.DELAY: DELIVER}.get(pb.MessageType.ValueType(min(types, default=0)))
        if option is None:
            yield Problem("target.topic", topic, f"takes messages that are {takes}, which are not sent here", "Name another topic.")
        elif option == GROUP:
            why = f"takes messages that are {takes}: those that have no message group are refused"
            yield Problem("target.topic", topic, why, f"Set {GROUP}, unless all have one.", is_warning=True)
        else:
            yield Problem("target.topic", topic, f"takes messages that are {takes}, and these have no time", f"Set {DELIVER}.")
