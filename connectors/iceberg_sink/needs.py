"""What there is of Iceberg in the Spark session."""

from pathlib import Path

from rocketconnect_sdk.spark.needs import SparkNeeds

ICEBERG_VERSION = "1.12.0"
POSTGRESQL_VERSION = "42.7.14"
ICEBERG = SparkNeeds(
    f"Iceberg {ICEBERG_VERSION}",
    str(Path(__file__).with_name(f"iceberg-{ICEBERG_VERSION}.jars")),
    # Iceberg makes it of the settings of the session that is active, which may be another one than that of a frame.
    {"spark.sql.catalog.default_rewrite_catalog": "org.apache.iceberg.spark.SparkRewriteTableCatalog"},
)
