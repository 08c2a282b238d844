"""What there is of Hudi in the Spark session."""

from pathlib import Path

from rocketconnect_sdk.spark.needs import SparkNeeds

HUDI_VERSION = "1.1.1"
PARQUET_VERSION = "1.16.0"
"""That which Spark has."""
HUDI = SparkNeeds(f"Hudi {HUDI_VERSION}", str(Path(__file__).with_name(f"hudi-{HUDI_VERSION}.jars")))
