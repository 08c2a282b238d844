"""The settings of the embedded name server and broker, and why they differ from RocketMQ's own defaults."""

from collections.abc import Mapping
from pathlib import Path

from rocketconnect_kit.java.find import NO_PERF_DATA

_FLAGS = (
    # RocketMQ reaches into two packages that Java 17 does not export.
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    NO_PERF_DATA,
)
NAME_SERVER_MAIN = "org.apache.rocketmq.namesrv.NamesrvStartup"
BROKER_MAIN = "org.apache.rocketmq.broker.BrokerStartup"
SYSTEM_PROPERTIES = {
    # Without this each of the two makes an RSA key for a certificate that only tests would use, with a slow library:
    # 1.5 s of CPU on average, and now and then many seconds. Everything listens on loopback.
    "tls.server.mode": "disabled",
}
_MIB = 1024 * 1024


def name_server_settings(port: int, data_dir: Path) -> dict[str, str]:
    """Return the name server's configuration file as a mapping."""
    return {
        "listenPort": str(port),
        "bindAddress": "127.0.0.1",
        "kvConfigPath": str(data_dir / "name-server" / "kvConfig.json"),
        "configStorePath": str(data_dir / "name-server" / "namesrv.properties"),
    }


def broker_settings(port: int, name_server: str, data_dir: Path) -> dict[str, str]:
    """Return the broker's configuration file as a mapping."""
    store = data_dir / "store"
    return {
        "brokerClusterName": "rocketconnect",
        "brokerName": "broker-0",
        "brokerId": "0",
        "brokerRole": "ASYNC_MASTER",
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
        "bindAddress": "127.0.0.1",
        "listenPort": str(port),
        "namesrvAddr": name_server,
        # Milliseconds after which a name server that was restarted knows the broker again; 10 s is the lowest.
        "registerNameServerPeriod": "10000",
        "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
        # Invariant 1: what "confirmed" means here. The message is in the page cache of this machine when the broker
        # confirms it, and on disk within half a second: it survives the death of every process, not a power cut.
        "flushDiskType": "ASYNC_FLUSH",
        # 100 MiB instead of 1 GiB a file: a small machine's disk and page cache.
        "mappedFileSizeCommitLog": str(100 * _MIB),
        "maxMessageSize": str(4 * _MIB),
        # By default a pull brings 32 messages or 256 KiB (8 and 64 KiB from disk), which costs a round trip each.
        "maxTransferCountOnMessageInMemory": "8192",
        "maxTransferCountOnMessageInDisk": "8192",
        "maxTransferBytesOnMessageInMemory": str(8 * _MIB),
        "maxTransferBytesOnMessageInDisk": str(8 * _MIB),
        # SQL92 filters.
        "enablePropertyFilter": "true",
        # The topic of the message trace, which costs nothing while no client writes into it.
        "traceTopicEnable": "true",
        # Topics are created on purpose, with a chosen number of queues; a typing error must not make one.
        "autoCreateTopicEnable": "false",
        "autoCreateSubscriptionGroup": "true",
        # Hours. Older files are deleted at 4 o'clock, or at once while the disk is over 75 % full. Younger ones, read or
        # not, are never deleted to make room: over 90 % (the most that RocketMQ allows) the broker refuses messages.
        "fileReservedTime": "72",
        "cleanFileForciblyEnable": "false",
        "diskSpaceWarningLevelRatio": "90",
        # A request that waited longer than this in the broker is answered as busy. The default of 200 ms is less than
        # what a machine with two cores needs when everything starts at once.
        "waitTimeMillsInSendQueue": "1000",
        # Milliseconds. The thread that writes these metrics spins on a whole core until its first interval is over:
        # by default for the first 10 s of a broker's life, just when everything else starts.
        "transactionMetricFlushInterval": "1000",
        # Milliseconds. At each flush the broker compares its wheel of timers, 37 MiB, byte by byte, though nobody uses it:
        # each second, the default, that is an eighth of a core for good. What a crash leaves unflushed is read again.
        "timerFlushIntervalMs": "30000",
    }


def properties(settings: Mapping[str, str]) -> str:
    """Return the text of a Java properties file."""
    escaped = ((key, value.replace("\\", "\\\\")) for key, value in settings.items())
    return "".join(f"{key}={value}\n" for key, value in escaped)


def name_server_flags(heap: str) -> list[str]:
    """Return Java's flags for the name server."""
    # It has little to do, so the second compiler costs more than it brings: 1.2 s of CPU to the start instead of 2.5.
    return [f"-Xmx{heap}", "-XX:TieredStopAtLevel=1", *_FLAGS]


def broker_flags(heap: str) -> list[str]:
    """Return Java's flags for the broker."""
    # Java's defaults are right here. CPU seconds of the broker for 4 million messages of 100 bytes, sent and pulled:
    # 16.6 so, 17.7 with SerialGC, 19.8 with ParallelGC, and 22.5 without the second compiler (which starts 1 s sooner).
    return [f"-Xmx{heap}", *_FLAGS]
