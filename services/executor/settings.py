"""What the executor can be told."""

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from rocketconnect_kit import tracing
from rocketconnect_kit.sealing import Keys
from rocketconnect_kit.settings import RocketMQSettings, pem_file, setting
from rocketconnect_sdk.permissions import dead_letter_topics, spills
from rocketconnect_sdk.permissions.hosts import EVERYWHERE, Hosts
from rocketconnect_sdk.permissions.quotas import read_quotas
from rocketconnect_sdk.permissions.spark_profiles import memory_size, read_profiles
from services.executor.contract.stop_limits import EXECUTOR_SECONDS
from services.executor.environment import USUAL_RELOAD_SECONDS, folders
from services.executor.secrets.keystore_access import CONFIG_ADDRESS, KEYS, NAMES, OWN_TOKEN, TLS_CA, TLS_CERT, TLS_KEY
from services.executor.secrets.vault_access import ADDRESS, CA, MOUNTS, NAMESPACE, PATHS, TOKEN_FILE, check_address, vault_paths
from services.executor.secrets.vault_access import conflicts as vault_conflicts

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_NEEDED = ("cluster_address", "position_address", "state_address", "config_address", "name_server")


def parse_labels(text: str) -> dict[str, str]:
    """Return the labels in "name=value,name=value".

    Raises:
        ValueError: says which part is none.
    """
    labels: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            msg = f"{part!r} is not a label; write name=value"
            raise ValueError(msg)
        labels[name] = value
    return labels


def _id(value: str) -> None:
    if value and not _ID.fullmatch(value):
        msg = "is made of 1 to 128 letters, digits, and _ . : -, and begins with a letter or a digit"
        raise ValueError(msg)


def _header(value: str) -> None:
    if not value.isascii() or not value.isprintable():
        msg = "is made of printable ASCII characters"
        raise ValueError(msg)


def _lineage_url(value: str) -> None:
    url = urlsplit(value)
    if value and (url.scheme not in ("http", "https") or not url.hostname):
        msg = "is no http://HOST:PORT and no https://HOST:PORT"
        raise ValueError(msg)


def _profiles(value: str) -> None:
    if value:
        read_profiles(Path(value))


def _memory(value: str) -> None:
    if value and not memory_size(value):
        msg = "is no room for any driver"
        raise ValueError(msg)


def _quotas(value: str) -> None:
    if value:
        read_quotas(Path(value))


@dataclass(frozen=True, kw_only=True)
class ExecutorSettings(RocketMQSettings):
    """The executor service: runs tasks in host processes."""

    drain_seconds: float = setting(
        EXECUTOR_SECONDS,
        "how long tasks may take to finish and commit, and running calls to end, after a first signal",
        ge=0,
        le=3600,
    )
    worker_id: str = setting("", "unique among the workers, the same after a restart; none: HOSTNAME-PORT", check=_id)
    advertise_address: str = setting("", "host:port of this process for the other services, not of a proxy; none: where it listens")
    labels: str = setting("", "what connectors can ask for: name=value,name=value", check=parse_labels)
    weight: int = setting(1, "how many tasks it gets, compared with others: 2 is twice as many as 1", ge=1, le=100)
    secret_variables: str = setting(
        "", "variables that connectors may name as ${env:NAME}: NAME,PREFIX_*; with these, and no others, tasks run"
    )
    secret_folders: str = setting("", "folders whose files connectors may name as ${file:PATH:KEY}: /a:/b", check=folders)
    vault_address: str = setting(
        "", "https://HOST:PORT of a Vault, whose secrets connectors name as ${vault:PATH:KEY}", check=check_address
    )
    vault_token_file: Path | None = setting(None, "a file with the token for it, read anew for each secret")
    vault_namespace: str = setting("", "the namespace of all paths; none: the root", check=_header)
    vault_ca: Path | None = pem_file("who signs its certificate (PEM); none: whom the machine trusts")
    vault_mounts: str = setting("secret", "where its KV engines, version 2, are: MOUNT,MOUNT", check=vault_paths)
    vault_paths: str = setting(
        "", "what connectors may read, with all beneath it: MOUNT/PATH,MOUNT/PATH; none: nothing", check=vault_paths
    )
    keystore_keys: Path | None = setting(
        None, "the file of keys of the config service, which open what its keystore holds; none: no keystore", check=Keys.read
    )
    keystore_names: str = setting("*", "secrets of the keystore that connectors may name as ${keystore:NAME}: NAME,PREFIX*")
    secret_reload_seconds: float = setting(
        USUAL_RELOAD_SECONDS,
        "how often tasks look whether secrets in files, Vault and keystore have changed; 0: never",
        ge=0,
        le=86_400,
    )
    read_roots: str = setting("", "folders beneath which connectors may read files: /a:/b; none: nowhere", check=folders)
    write_roots: str = setting("", "folders beneath which connectors may write files: /a:/b; none: nowhere", check=folders)
    own_files: str = setting(
        "",
        "files and folders that connectors never read or write, wherever those folders are: /a:/b; files of its tokens and keys "
        "are among them unsaid",
        check=folders,
    )
    connector_hosts: str = setting(
        EVERYWHERE,
        "hosts that connectors may speak to: NAME,*.NAME,ADDRESS,RANGE,NAME:PORT; *: all, but where clouds tell a machine its "
        "credentials; none: nowhere",
        check=Hosts.parse,
    )
    reader_hosts: str = setting(
        "",
        "hosts, written as in connector_hosts, that a look into a topic may speak to for somebody with the role read: a schema "
        "registry; none: nowhere",
        check=Hosts.parse,
    )
    dead_letter_topics: str = setting(
        dead_letter_topics.USUAL,
        "topics that dead letters may go to, also with `dlq replay --to`: NAME,PREFIX*,*-SUFFIX; none: nowhere",
    )
    kafka_plugins: str = setting(
        "",
        "the folder into which `rocketconnect plugins install` has put plugins of Kafka Connect; none: it has none. Their code is "
        "not held to connector_hosts, read_roots and write_roots",
    )
    tasks_per_host: int = setting(1, "how many native tasks share a host process, while there are few", ge=1, le=1000)
    native_hosts: int = setting(
        0, "with so many host processes, native tasks share those that there are; 0: 16 for each core", ge=0, le=10_000
    )
    max_tasks: int = setting(1000, "tasks at a time; further ones wait, and say so; 0: no limit", ge=0, le=100_000)
    max_spark_drivers: int = setting(
        16,
        "Spark drivers at a time, one for each profile; a sink that needs one more waits, and says so; 0: no limit",
        ge=0,
        le=1000,
    )
    max_spark_memory: str = setting(
        "", "the heaps of all Spark drivers together, 16g; a sink whose driver has no room waits, and says so", check=_memory
    )
    spark_warm: bool = setting(False, "keep a Spark driver ready, so that the first sink starts fast")
    spark_classes: str = setting(
        "", "the folder of `python -m services.executor.make_class_archive FOLDER`, with which Spark starts faster"
    )
    spark_profiles: str = setting(
        "", "a TOML file of Spark settings by profile, which sinks name as spark.profile; none: no profiles", check=_profiles
    )
    quotas: str = setting(
        "",
        "a TOML file of records and bytes a second by names of connectors, for all tasks of one; none: no quotas",
        check=_quotas,
    )
    query_spill: str = setting(
        spills.USUAL,
        "disk that the process of a query, of a sink or the transform sql, may take beside its 512 MB of memory, 4g; 0: none",
        check=memory_size,
    )
    trace_records: float = setting(
        0.0, "records a second of each source task that are traced on their way, where OTEL_* says where to; 0: none", ge=0, le=100
    )
    lineage_url: str = setting(
        "",
        "http://HOST:PORT that takes events of OpenLineage about what tasks read and write; none: nowhere",
        check=_lineage_url,
    )
    lineage_namespace: str = setting("rocketconnect", "the namespace of their jobs: one for each deployment")
    lineage_token_file: Path | None = setting(None, "a file with the token that it wants to see")
    lineage_seconds: float = setting(60.0, "how often a task that goes on is told", ge=1, le=86_400)
    plugin_seconds: float = setting(30.0, "how long a plugin may take to check or plan; then its process is ended", gt=0, le=600)
    cleanup_seconds: float = setting(
        3600.0, "how long after its deletion a plugin that can't clean up behind a connector is called again", gt=0, le=30 * 86400
    )
    send_deadline_seconds: float = setting(
        2.0, "seconds that a send to a broker may take; the same for all workers and the cluster", gt=0, le=60
    )

    def folders(self) -> Iterator[Path]:
        """Where tasks and Spark write what they hold for a while."""
        yield Path(tempfile.gettempdir())

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together."""
        yield from super().conflicts()
        if missing := [f"--{name.replace('_', '-')}" for name in _NEEDED if not getattr(self, name)]:
            yield f"{', '.join(missing)} must be given: the executor needs them to do its work"
        if self.trace_records and not tracing.is_wanted():
            yield "--trace-records is given, and nothing says where traces go: set OTEL_EXPORTER_OTLP_ENDPOINT"
        if self.lineage_url and find_spec("openlineage") is None:
            yield "--lineage-url is given, and OpenLineage's client is not installed: pip install 'rocketconnect[openlineage]'"
        token_file = str(self.vault_token_file or "")
        yield from vault_conflicts(self.vault_address, token_file, self.vault_mounts, self.vault_paths)

    def told_of_own_files(self) -> str:
        """Return what belongs to this product itself, as hosts are told of it; see rocketconnect_sdk.permissions.roots."""
        secret = (self.token_file, self.tls_key, self.rocketmq_tls_key, self.keystore_keys, self.vault_token_file)
        callers = [Path(part.strip()) for part in self.tokens_files.split(",") if part.strip()]
        paths = [path for path in (*secret, self.lineage_token_file, *callers) if path is not None]
        return os.pathsep.join([*filter(None, [self.own_files]), *(str(path.absolute()) for path in paths)])

    def told_of_keystore(self) -> dict[str, str]:
        """Return what hosts are told of the keystore, as variables; see services.executor.secrets.keystore_access."""
        token = {} if self.token_file is None else {OWN_TOKEN: str(self.token_file.absolute())}
        if self.keystore_keys is None:
            # No connector reads it, whatever else is told.
            return token
        files = {KEYS: self.keystore_keys, TLS_CA: self.tls_ca, TLS_CERT: self.tls_cert, TLS_KEY: self.tls_key}
        paths = {name: str(path.absolute()) for name, path in files.items() if path is not None}
        return {NAMES: self.keystore_names, CONFIG_ADDRESS: self.config_address, **paths, **token}

    def told_of_vault(self) -> dict[str, str]:
        """Return what hosts are told of Vault, as variables; see services.executor.secrets.vault_access."""
        return {
            ADDRESS: self.vault_address,
            TOKEN_FILE: str(self.vault_token_file.absolute() if self.vault_token_file else ""),
            NAMESPACE: self.vault_namespace,
            CA: str(self.vault_ca.absolute() if self.vault_ca else ""),
            MOUNTS: self.vault_mounts,
            PATHS: self.vault_paths,
        }

    def worker_at(self, address: str) -> str:
        """Return the id of this worker, which listens at "host:port"."""
        return self.worker_id or f"{socket.gethostname()}-{address.rpartition(':')[2]}"

    def reached_at(self, address: str) -> str:
        """Return where the others reach this worker, which listens at "host:port"."""
        if self.advertise_address:
            return self.advertise_address
        host, _, port = address.rpartition(":")
        return f"{socket.gethostname()}:{port}" if host in ("0.0.0.0", "::", "[::]") else address  # noqa: S104 - a comparison
