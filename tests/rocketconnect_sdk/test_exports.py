"""The public names are a promise: a change here is a change for every connector author."""

import subprocess
import sys

import rocketconnect_sdk
from rocketconnect_sdk import conformance, converters, files

PUBLIC = """
ArrowSink ArrowSinkTask BufferedSink BufferedSinkTask
CapturedTable Config ConfigError ConnectorError DataFrameSink DataFrameSinkTask Edge Field FlushPolicy Guarantee KeptRows Kind
Offset Option Origin PermanentError Plan Position Problem QueuePosition ReadRows Receipt RecordError RecordRefused RecordSink
RecordSinkTask Rejected RetriableError Schema Signal Sink SinkBatch SinkCommit SinkTables SinkTask SinkWriter Source SourceBatch
SourceMark SourceTables SourceTask SystemAway TableRows Target TaskContext Type Unit __version__ decimal never parse run_checks
struct timestamp
"""


def test_the_public_names_are_these() -> None:
    assert sorted(rocketconnect_sdk.__all__) == sorted(PUBLIC.split())
    assert sorted(conformance.__all__) == ["ConverterCase", "ConverterSuite", "SinkCase", "SinkSuite", "SourceCase", "SourceSuite"]
    assert sorted(converters.__all__) == [
        "BUILT_IN",
        "Converter",
        "GROUP",
        "class_names",
        "converter",
        "converter_class",
        "installed",
    ]
    assert sorted(files.__all__) == ["AppendedFile", "Manifest", "ManifestLog", "Owner", "StagedFile"]


def test_every_public_name_is_there() -> None:
    for module in (rocketconnect_sdk, conformance, converters, files):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_core_needs_the_standard_library_alone() -> None:
    """Without installed packages; also how fast plugins are listed depends on it."""
    code = (
        "import sys; import rocketconnect_sdk.files, rocketconnect_sdk.converters, rocketconnect_sdk.plugins.loader, "
        "rocketconnect_sdk.configuration.connector_options, rocketconnect_sdk.testing, rocketconnect_sdk.columns.declared; "
        "print(sorted({'msgspec', 'pyarrow', 'pyspark', 'pytest', 'grpc'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_listing_plugins_imports_no_spark() -> None:
    code = (
        "import sys; from rocketconnect_sdk.plugins.loader import PluginType, catalogue, plugins; found = plugins(); "
        "print([plugin.name for plugin in found if plugin.type.is_connector], catalogue().broken, "
        "'pyspark' in sys.modules, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lakes = "delta_sink delta_source direct doris_sink elasticsearch_sink elasticsearch_source eventbridge_sink"
    more_lakes = "hive_sink hive_source http_sink http_source hudi_sink hudi_source iceberg_sink iceberg_source"
    files = "file_lines file_sink file_source ftp_source"
    databases = "jdbc_sink jdbc_source jms_sink jms_source journald_source kafka_sink kafka_source log_source"
    databases += " mongodb_sink mongodb_source mqtt_sink mqtt_source mysql_cdc_source"
    others = "object_store_sink object_store_source postgres_cdc_source rabbitmq_sink rabbitmq_source"
    redis = "redis_group_source redis_keys_source redis_replication_source redis_sink redis_source"
    redis += " rocketmq_checkpoint_source rocketmq_grpc_sink rocketmq_grpc_source rocketmq_settings_source"
    ends = "rocketmq_sink rocketmq_source sftp_sink sftp_source solr_sink stdout syslog_source webhook_source"
    first = "amqp_sink amqp_source clickhouse_sink clickhouse_source dead_letter_source"
    wanted = f"{first} {lakes} {files} {more_lakes} {databases} {others} {redis} {ends}".split()
    assert done.stdout.strip() == f"{wanted} {{}} False False"
