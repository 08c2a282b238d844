"""The file that a worker of RocketMQ Connect, or of Kafka Connect, was started with, as what `rocketconnect up` is told. Pure.

What has a counterpart becomes a setting. All else is told, with why it means nothing here, or what to do in its
place. Keys and defaults are those of WorkerConfig of apache/rocketmq-connect, and of Kafka 4.3.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocketconnect_cli.documents.configuration import parse_properties

MOST_BYTES = 1 << 20
ROCKETMQ, KAFKA = "RocketMQ Connect", "Kafka Connect"
_PORT = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_SERVER = re.compile(r"[^\s:;]+:[1-9]\d{0,4}", re.ASCII)
_OF_KAFKA = "bootstrap.servers"
"""Each file of a worker of Kafka has it."""

_STORES = "configurations, positions and states are kept by the services, in --data"
_TIMES = "positions move with each batch, and states are told at once"
_CALLS = "calls to RocketMQ have limits of their own"
_GROUPS = "workers find each other by the cluster service, without groups or topics"
_READING = "a sink reads queues by itself, without a group that RocketMQ shares out"
_PLAN = "the cluster service shares out tasks"
_METRICS = "metrics are Prometheus's (--metrics-port)"
_WORKERS = "workers are called worker-1, worker-2 and so on (--executors)"
_STOPS = "tasks have limits of their own to start and to stop"
_CONVERTER = "the default of a worker is not known here: import with --set {ours}={text}, or name it in each connector"

_ROCKETMQ_KEYS = {
    "workerId": _WORKERS,
    "connectClusterId": "the instance is the cluster",
    "storePathRootDir": "its connectors and their positions come by `rocketconnect import rocketmq-connect {text}`",
    "keyConverter": _CONVERTER.replace("{ours}", "key.converter"),
    "valueConverter": _CONVERTER.replace("{ours}", "value.converter"),
    "autoCreateTopicEnable": "it is an option of each connector: topic.auto.create, by default true",
    "autoCreateGroupEnable": _READING,
    "connectHome": "there is no such folder",
    "maxMessageSize": "brokers say how large a message may be",
    "allocTaskStrategy": _PLAN,
    "openLogMetricReporter": _METRICS,
    "metricsConfigPath": _METRICS,
    **dict.fromkeys(("clusterStoreTopic", "rmqProducerGroup", "rmqConsumerGroup", "adminExtGroup"), _GROUPS),
    **dict.fromkeys(("configStoreTopic", "positionStoreTopic", "offsetStoreTopic", "connectStatusTopic"), _STORES),
    **dict.fromkeys((f"{each}ManagementService" for each in ("cluster", "config", "position", "state")), _STORES),
    **dict.fromkeys((f"{each}PersistInterval" for each in ("config", "position", "offset", "state")), _TIMES),
    **dict.fromkeys(("offsetCommitTimeoutMsConfig", "offsetCommitIntervalMsConfig"), _TIMES),
    **dict.fromkeys(("operationTimeout", "brokerSuspendMaxTimeMillis"), _CALLS),
    **dict.fromkeys(("maxStartTimeoutMills", "maxStopTimeoutMills"), _STOPS),
    **dict.fromkeys(
        ("rmqMaxRedeliveryTimes", "rmqMessageConsumeTimeout", "rmqMaxConsumeThreadNums", "rmqMinConsumeThreadNums"), _READING
    ),
}
_CLIENTS = "there is no client of Kafka: topics are RocketMQ's"
_OF_IMPORT = "`rocketconnect import kafka-connect URL --worker-config {file}` takes it for connectors that name none"
_REST = "--host, --tokens-file, --tls-cert and --tls-key say who reaches REST, and how"
_KAFKA_KEYS = {
    _OF_KAFKA: f"{_CLIENTS} (--namesrv)",
    "group.id": _GROUPS,
    "offset.storage.file.filename": "while the worker runs, `rocketconnect import kafka-connect URL` takes its offsets over",
    "offset.flush.interval.ms": "it is an option of each sink of Kafka Connect",
    "offset.flush.timeout.ms": _TIMES,
    "plugin.discovery": "`rocketconnect plugins install` looks at each plugin once",
    "exactly.once.source.support": "delivery of plugins of Kafka Connect is at least once",
    "connector.client.config.override.policy": _CLIENTS,
    "topic.creation.enable": "it is an option of each connector: topic.auto.create, by default true",
    "topic.tracking.enable": "topics are those that configurations name",
    "client.id": _CLIENTS,
    "security.protocol": _CLIENTS,
    "metric.reporters": _METRICS,
    "auto.include.jmx.reporter": _METRICS,
    "task.shutdown.graceful.timeout.ms": _STOPS,
    "rest.host.name": _REST,
    "rest.port": "",
    "listeners": "",
}
_KAFKA_STARTS = {
    "producer.": _CLIENTS,
    "consumer.": _CLIENTS,
    "admin.": _CLIENTS,
    "sasl.": _CLIENTS,
    "ssl.": _CLIENTS,
    "config.storage.": _STORES,
    "offset.storage.": _STORES,
    "status.storage.": _STORES,
    "key.converter": _OF_IMPORT,
    "value.converter": _OF_IMPORT,
    "header.converter": _OF_IMPORT,
    "config.providers": "references of RocketConnect take its place (secrets.md): ${{env:NAME}}, ${{file:PATH:KEY}}",
    "metrics.": _METRICS,
    "rest.": _REST,
    "access.control.": _REST,
    "response.http.": _REST,
    "scheduled.rebalance.": _PLAN,
    "connect.protocol": _PLAN,
    "inter.worker.": _PLAN,
    "worker.": _PLAN,
}


@dataclass(slots=True)
class WorkerFile:
    """What such a file says.

    Attributes:
        system: Whose it is.
        namesrv: The name servers; "": not said.
        rest_port: Where REST answers; None: not said.
        environment: What services are told. Never shown.
        notes: What is otherwise here, or has no counterpart, a sentence each. No value of a secret is in it.
        problems: What has to be corrected first, a sentence each.
    """

    system: str
    namesrv: str = ""
    rest_port: int | None = None
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read(file: Path) -> WorkerFile:
    """What a file says.

    Raises:
        ValueError: it can't be read; says why.
    """
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        msg = f"is larger than {MOST_BYTES >> 20} MiB, and the file of a worker is a few lines of KEY=VALUE"
        raise ValueError(msg)
    return of(content.decode(), file)


def of(text: str, file: Path) -> WorkerFile:
    """What the text of such a file says."""
    unread: list[dict[str, str]] = []
    config = {key: value for key, value in parse_properties(file, text, unread).items() if value}
    told = WorkerFile(KAFKA if _OF_KAFKA in config else ROCKETMQ)
    # Not with the line: it may be a password.
    told.problems += [f"{each['key']} {each['reason']}. {each['fix']}" for each in unread]
    if told.system == KAFKA:
        _kafka(config, file, told)
    else:
        _rocketmq(config, told)
    return told


def _rocketmq(config: Mapping[str, str], told: WorkerFile) -> None:
    told.namesrv = config.get("namesrvAddr", "").strip("; ")
    wrong = [each for each in told.namesrv.split(";") if not _SERVER.fullmatch(each)]
    if told.namesrv and wrong:
        told.problems.append(f"namesrvAddr has {wrong[0][:100]!r}, which is no HOST:PORT. Divide several by semicolons")
    if not told.namesrv:
        told.notes.append("namesrvAddr is not there: an embedded RocketMQ is started, unless --namesrv names one")
    _take_port(config, "httpPort", told)
    _take_login(config, told)
    settings = ("namesrvAddr", "httpPort", "aclEnable", "accessKey", "secretKey")
    for key, value in config.items():
        if key == "pluginPaths":
            told.notes += _plugins(key, value)
        elif key not in settings:
            why = _ROCKETMQ_KEYS.get(key, "it is no key of a worker of RocketMQ Connect")
            told.notes.append(f"{key} is left out: {why.format(text=value)}")


def _take_login(config: Mapping[str, str], told: WorkerFile) -> None:
    keys = {"accessKey": "ROCKETMQ_ACCESS_KEY", "secretKey": "ROCKETMQ_SECRET_KEY"}
    given = [key for key in keys if key in config]
    switch = config.get("aclEnable", "false").lower()
    if switch not in ("true", "false"):
        told.problems.append(f"aclEnable is {switch[:100]!r}. Write true or false")
    elif switch == "false":
        told.notes += [f"{key} is left out: aclEnable is not true" for key in given]
    elif len(given) < len(keys):
        missing = " and ".join(key for key in keys if key not in config)
        told.problems.append(f"aclEnable is true, and {missing} is not there. Give accessKey and secretKey")
    else:
        told.environment |= {f"ROCKETCONNECT_{keys[key]}": config[key] for key in given}


def _kafka(config: Mapping[str, str], file: Path, told: WorkerFile) -> None:
    first, _, more = config.get("listeners", "").partition(",")
    port = first.rpartition(":")[2] if first.count(":") > 1 else ""
    _take_port({"listeners": port} if port else config, "listeners" if port else "rest.port", told)
    if more:
        told.notes.append("listeners has several, and REST listens in one place: the first is taken")
    if first.strip().lower().startswith("https:"):
        told.notes.append(f"listeners is https: {_REST}")
    for key, value in config.items():
        if key == "plugin.path":
            told.notes += _plugins(key, value)
        elif why := _KAFKA_KEYS.get(key) or ("" if key in _KAFKA_KEYS else _started(key, _KAFKA_STARTS.items())):
            told.notes.append(f"{key} is left out: {why.format(file=file)}")


def _plugins(key: str, value: str) -> list[str]:
    folders = [each.strip() for each in value.split(",") if each.strip()]
    return [f"{key}: `rocketconnect plugins install {each}/PLUGIN` takes each plugin in {each}" for each in folders]


def _started(key: str, starts: Iterable[tuple[str, str]]) -> str:
    return next((why for start, why in starts if key.startswith(start)), "it is not known here")


def _take_port(config: Mapping[str, str], key: str, told: WorkerFile) -> None:
    text = config.get(key, "")
    if not text:
        return
    if _PORT.fullmatch(text) and int(text) < 65536:
        told.rest_port = int(text)
        told.notes.append(f"{key}: REST answers at {text}, for this machine alone (--host)")
    else:
        told.problems.append(f"{key} is {text[:100]!r}, which is no port. Give a number from 1 to 65535")
