"""Where the plugin of a class is fetched from, for the connectors that people have most. Pure."""

_DEBEZIUM = {
    "mariadb": "mariadb",
    "mongodb": "mongodb",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgresql": "postgres",
    "sqlserver": "sqlserver",
    "db2": "db2",
}
_ARTIFACTS = {
    "org.apache.kafka.connect.file.": "org.apache.kafka:connect-file",
    "com.mongodb.kafka.connect.": "org.mongodb.kafka:mongo-kafka-connect",
    "com.google.pubsub.kafka.": "com.google.cloud:pubsub-group-kafka-connector",
    **{f"io.debezium.connector.{name}.": f"io.debezium:debezium-connector-{end}" for name, end in _DEBEZIUM.items()},
}


def how_to_install(class_name: str, version: str) -> str:
    """The command that installs the plugin of a class where executors run.

    Args:
        class_name: Its whole name.
        version: As the worker tells it; "": not told.
    """
    artifact = next((artifact for start, artifact in _ARTIFACTS.items() if class_name.startswith(start)), "")
    what = f"{artifact}:{version or 'VERSION'}" if artifact else "FOLDER, of its jars in the worker's plugin.path"
    return f"rocketconnect plugins install {what}, where executors run; then rocketconnect plugins reload"
