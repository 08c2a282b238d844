"""What Spark asks for a format: its name, its columns, its readers and writers."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """The format "rocketmq"."""

    # What is needed for one way only is imported there: Spark makes a process of Python for each.

    @classmethod
    def name(cls) -> str:
        """See DataSource."""
        return "rocketmq"

    def schema(self) -> StructType:
        """The columns of a topic: see docs/spark.md."""
        from pyspark_rocketmq.form import form_of_topic
        from pyspark_rocketmq.settings import READING, Settings

        return form_of_topic(Settings(READING, self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """See DataSource."""
        from pyspark_rocketmq.readers import BatchReader
        from pyspark_rocketmq.settings import READING, Settings

        return BatchReader(Settings(READING, self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """See DataSource."""
        from pyspark_rocketmq.readers import StreamReader
        from pyspark_rocketmq.settings import READING, Settings

        return StreamReader(Settings(READING, self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # Spark's
        """See DataSource. There is nothing to overwrite in a topic."""
        from pyspark_rocketmq.settings import WRITING, Settings
        from pyspark_rocketmq.writers import BatchWriter

        return BatchWriter(Settings(WRITING, self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802  # Spark's
        """See DataSource."""
        from pyspark_rocketmq.settings import WRITING, Settings
        from pyspark_rocketmq.writers import StreamWriter

        return StreamWriter(Settings(WRITING, self.options), schema, overwrite=overwrite)
