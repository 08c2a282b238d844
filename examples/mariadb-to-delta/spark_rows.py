"""Shows the rows of a table as Spark reads them: `spark_rows.py delta PATH` or `spark_rows.py iceberg PATH`."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

table_format, path = sys.argv[1:]
# What the sinks have downloaded. On another machine, set spark.jars.packages instead.
jars = (Path.home() / ".cache/rocketconnect").glob(f"{table_format}-*/*.jar")
settings = {"spark.jars": ",".join(map(str, jars)), "spark.ui.enabled": "false"}
if table_format == "delta":
    settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
    settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
spark = SparkSession.builder.config(map=settings).getOrCreate()
spark.read.format(table_format).load(path).orderBy("id").show()
