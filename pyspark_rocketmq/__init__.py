"""RocketMQ as a data source of PySpark: `spark.read.format("rocketmq")`, and so for readStream, write and writeStream.

Spark finds it by the name of this package (its data sources are in packages that are called pyspark_*), so nothing has to be
registered. docs/spark.md has its columns, options and guarantees.
"""

from pyspark_rocketmq.source import DefaultSource

__all__ = ["DefaultSource"]
