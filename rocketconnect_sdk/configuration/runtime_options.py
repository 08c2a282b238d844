"""The options that connectors have without their doing: those of the runtime."""

from collections.abc import Sequence

from rocketconnect_sdk.filters.options import OPTIONS as FILTERS
from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.permissions import dead_letter_topics
from rocketconnect_sdk.routes.allowed import ALLOWED
from rocketconnect_sdk.routes.names import CHARACTERS, TOPIC_LENGTH, name_problem, topic_problem

_GROUP_LENGTH = 120
_TOPIC_FIX = f"Use 1 to {TOPIC_LENGTH} {CHARACTERS}, such as orders or orders-2024."


def _dead_letter_topic_problem(topic: str) -> str | None:
    if topic == "%DLQ%":
        return "names no consumer group behind %DLQ%"
    return topic_problem(topic) or (dead_letter_topics.problem(topic) if topic else None)


def _topics_problem(topics: Sequence[str]) -> str | None:
    wrong = [f"{topic[:TOPIC_LENGTH]!r} {problem}" for topic in topics if (problem := topic_problem(topic))]
    return "; ".join(wrong) or (None if topics else "names no topic")


def _labels_problem(labels: Sequence[str]) -> str | None:
    wrong = [label for label in labels if "=" not in label[1:]]
    return f"has {', '.join(map(repr, wrong[:5]))} instead of name=value" if wrong else None


STALL_TIMEOUT = Option(
    "stall.timeout",
    "A task that has work and makes no progress for so long is reported as STALLED.",
    Kind.DURATION,
    "60s",
    minimum=1,
)
CLASS = Option("connector.class", "The kind of connector: see `rocketconnect plugins list`.", required=True)

RESTART = "restart"
RELOAD = Option(
    "config.action.reload",
    "When a secret that a reference to a file, to Vault or to the keystore stands for has changed: restart its tasks where they "
    "are, so that they connect with the new one; none: it counts from the next start on.",
    default=RESTART,
    choices=("none", RESTART),
)

COMMON = (
    CLASS,
    Option(
        "max.tasks",
        "Into how many tasks the work is split at most. The connector may make fewer.",
        Kind.INT,
        "1",
        minimum=1,
        maximum=1000,
        aliases=("tasks.max",),
    ),
    Option(
        "worker.labels",
        "Only workers with all of these labels run it: name=value, separated by commas.",
        Kind.LIST,
        "",
        check=_labels_problem,
        fix="Write name=value, several with commas: zone=a,disk=ssd.",
    ),
    Option(
        "transforms",
        "Names of transforms in their order, separated by commas; transforms.NAME.type says what each is: see docs/transforms.md.",
        Kind.LIST,
        "",
    ),
    Option(
        "predicates",
        "Names of predicates, which transforms.NAME.predicate refers to; predicates.NAME.type says what each is.",
        Kind.LIST,
        "",
    ),
    Option(
        "errors.tolerance",
        "What a bad record does: none ends the task, all sends it to the dead-letter topic, or leaves it out where none is named.",
        default="none",
        choices=("none", "all"),
    ),
    Option(
        "errors.retry.timeout",
        "For how many milliseconds a failed call is tried again before its task fails; -1: for ever; 0: not at all. "
        "A system that is away is waited for without a limit.",
        Kind.INT,
        "300000",
        minimum=-1,
    ),
    Option(
        "errors.retry.delay.max.ms",
        "The longest wait between two tries in milliseconds.",
        Kind.INT,
        "60000",
        minimum=1,
        maximum=86_400_000,
    ),
    Option("errors.log.enable", "Logs each bad record: where it was and what is wrong with it.", Kind.BOOL, "true"),
    Option("errors.log.include.messages", "Logs the first part of its content, too.", Kind.BOOL, "false"),
    Option(
        "errors.deadletterqueue.topic.name",
        "The topic that bad records go to when errors.tolerance is all. It is created when it does not exist. "
        "%DLQ%GROUP is the one that RocketMQ itself keeps for a consumer group. Its name is one that the operator of the executors "
        "allows (--dead-letter-topics); it has dlq or dead-letter in it, unless they say otherwise.",
        default="",
        check=_dead_letter_topic_problem,
        fix=_TOPIC_FIX.replace("orders or orders-2024.", "orders-dlq, that the executor allows, or leave it empty."),
    ),
    Option(
        "errors.deadletterqueue.read.queue.nums",
        "Read queues of a dead-letter topic that is created; never fewer than write queues.",
        Kind.INT,
        "8",
        minimum=1,
        maximum=1024,
    ),
    Option(
        "errors.deadletterqueue.write.queue.nums",
        "Write queues of a dead-letter topic that is created.",
        Kind.INT,
        "8",
        minimum=1,
        maximum=1024,
    ),
    Option(
        "errors.deadletterqueue.context.properties.enable",
        "Dead letters carry what is wrong, and where, in properties that begin with __connect.errors.",
        Kind.BOOL,
        "true",
    ),
    Option(
        "on.isolation",
        "When no service is reached for longer than the lease: pause holds back sends and writes until one is, "
        "continue goes on, at least once.",
        default="pause",
        choices=("pause", "continue"),
    ),
    STALL_TIMEOUT,
    RELOAD,
    Option(
        "max.rate.records",
        "At most so many records a second in each task. Without it: no limit.",
        Kind.FLOAT,
        minimum=0.001,
        maximum=1_000_000_000,
    ),
    Option(
        "max.rate.bytes",
        "At most so many bytes a second in each task. Without it: no limit.",
        Kind.SIZE,
        minimum=1,
        maximum=1 << 40,
    ),
    Option(
        "rocketmq.access.key",
        "The user as whom its tasks speak to brokers with ACL. Without it: the executor's.",
        default="",
        references=True,
    ),
    Option("rocketmq.secret.key", "The secret of that user.", default="", secret=True),
    Option("buffer.bytes", "How much a task holds in memory at most, about.", Kind.SIZE, "32MiB", minimum=65536, maximum=64 << 30),
)

KEY_CONVERTER = Option(
    "key.converter", "How keys become bytes, and back. Its options follow with the prefix key.converter.", default="string"
)
VALUE_CONVERTER = Option(
    "value.converter",
    "How values become message bodies, and back. Its options follow with the prefix value.converter.",
    default="string",
)
CONVERTERS = (KEY_CONVERTER, VALUE_CONVERTER)
FOREIGN = (*(option.key for option in CONVERTERS), "header.converter", "transforms", "predicates")
"""What foreign plugins have of their own, with all whose keys begin so; see Source.foreign."""

_TOPIC = (
    Option("topic.auto.create", "Creates a topic that does not exist. Otherwise the task fails and names it.", Kind.BOOL, "true"),
    Option(
        "topic.queues",
        "Queues of a topic that is created. The first that needs it creates it, be it a source or a sink: give both the same.",
        Kind.INT,
        "8",
        minimum=1,
        maximum=1024,
    ),
    Option(
        "topic.type",
        "What a topic becomes that is created: normal, or batch (units of many messages; faster, without filters by tag or SQL).",
        default="normal",
        choices=("normal", "batch"),
    ),
)

_MESSAGE_TRACE = (
    Option(
        "message.trace",
        "Writes RocketMQ's message trace: which messages the source sent, or the sink got, when, and how long it took. See "
        "docs/message-trace.md.",
        Kind.BOOL,
        "false",
    ),
    Option(
        "message.trace.topic",
        "The trace topic of the brokers (their msgTraceTopicName).",
        default="RMQ_SYS_TRACE_TOPIC",
        check=topic_problem,
        fix=f"Use 1 to {TOPIC_LENGTH} {CHARACTERS}.",
    ),
)

ORIGIN_SHARED = Option(
    "origin.shared",
    "Another source may read the same into the same topic, which then has each record once for each of them. Otherwise a source "
    "that reads what another one reads is refused.",
    Kind.BOOL,
    "false",
)

SOURCE = (
    Option(
        "topic",
        "The topic that records go to.",
        required=True,
        aliases=("connect.topicname",),
        check=topic_problem,
        fix=_TOPIC_FIX,
        example="orders",
    ),
    ALLOWED,
    *_TOPIC,
    ORIGIN_SHARED,
    Option("batch.bytes", "About how many bytes of values are sent at once.", Kind.SIZE, "1MiB", minimum=1, maximum=4 << 20),
    Option("batch.records", "How many records are sent at once at most.", Kind.INT, "10000", minimum=1, maximum=1_000_000),
    *_MESSAGE_TRACE,
    Option("linger", "How long a batch that is not full waits for more records.", Kind.DURATION, "0s", maximum=60),
    Option(
        "on.gap",
        "When the broker has lost messages that it had confirmed, or what a source of a lake or a log has to read was removed: "
        "fail, or go on behind it and say so.",
        default="fail",
        choices=("fail", "skip"),
    ),
    Option("ordering.msg.enable", "Accepted for RocketMQ Connect's sake: order is always kept.", Kind.BOOL, "true"),
)

SINK = (
    Option(
        "topics",
        "The topics that are read, separated by commas.",
        Kind.LIST,
        required=True,
        aliases=("connect.topicnames",),
        check=_topics_problem,
        fix=f"Name topics of 1 to {TOPIC_LENGTH} {CHARACTERS}, separated by commas: orders,payments.",
        example="orders",
    ),
    *_TOPIC,
    Option(
        "engine",
        "spark, or native (without Spark: milliseconds instead of throughput).",
        default="spark",
        choices=("spark", "native"),
    ),
    Option(
        "spark.profile",
        "The Spark profile, of those that the operator of the executors has defined, whose settings the sink's Spark driver gets.",
        default="",
    ),
    Option(
        "consume.from.where",
        "Where a queue is begun that has no position yet. CONSUME_FROM_LAST_OFFSET: where the queues of a topic ended when the "
        "sink first saw the topic; queues that the topic gets later are begun at their beginning.",
        default="CONSUME_FROM_FIRST_OFFSET",
        choices=("CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET"),
    ),
    *FILTERS,
    Option(
        "on.gap",
        "When messages are gone (retention, a recreated topic, a broker that lost data): fail, or skip them and say so.",
        default="fail",
        choices=("fail", "skip"),
    ),
    Option(
        "queues.absent",
        "When queues that the sink has to read are not there, since their broker is away or the topic has fewer read queues: it "
        "reads the others; wait says WAITING with what is not read, skip only logs it. Both read on there when they are back.",
        default="wait",
        choices=("wait", "skip"),
    ),
    Option(
        "task.group.id",
        "The consumer group under which RocketMQ's tools show the lag; empty: connect-<name of the connector>.",
        default="",
        check=lambda group: name_problem(group, _GROUP_LENGTH),
        fix=f"Use up to {_GROUP_LENGTH} {CHARACTERS}, or leave it empty.",
    ),
    Option(
        "on.group.reset",
        "When RocketMQ's tools (mqadmin resetOffsetByTime, the Dashboard) reset the consumer group: ignore, and say so in the log; "
        "or follow, and go on where they have set it: what is read again on the way back is written again.",
        default="ignore",
        choices=("ignore", "follow"),
    ),
    *_MESSAGE_TRACE,
    # A column of a batch in memory holds less than 2 GiB.
    Option("batch.bytes", "About how many bytes of values are written at once.", Kind.SIZE, "32MiB", minimum=1, maximum=1 << 30),
    Option("batch.records", "How many records are written at once at most.", Kind.INT, "500000", minimum=1, maximum=10_000_000),
)

SOURCE_CLASS = Option(
    "source.connector.class", "The source. Its options follow with the prefix source.", required=True, example="file_source"
)
SINK_CLASS = Option("sink.connector.class", "The sink. Its options follow with the prefix sink.", required=True, example="stdout")
DIRECT = (
    *COMMON,
    SOURCE_CLASS,
    SINK_CLASS,
)
