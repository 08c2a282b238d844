"""What there is of Delta Lake in the Spark session."""

from pathlib import Path

from rocketconnect_sdk.spark.needs import SparkNeeds

DELTA_VERSION = "4.4.0"
DELTA = SparkNeeds(
    f"Delta Lake {DELTA_VERSION}",
    str(Path(__file__).with_name(f"delta-{DELTA_VERSION}.jars")),
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The state of the table is made by so many small jobs, at each commit; Delta's default of 50 takes seconds on one machine.
        "spark.databricks.delta.snapshotPartitions": "2",
    },
)
