"""A metastore of Hive, out of the jars that Spark ships: a Java process of its own over Derby, that speaks Thrift."""

from collections.abc import Sequence
from pathlib import Path

import pyspark

from tests import free_ports
from tests.server_process import JavaServer, takes_connections

_SERVER = "org.apache.hadoop.hive.metastore.HiveMetaStore"


class HiveMetastore(JavaServer):
    """A metastore.

    Attributes:
        port: Where it listens.
    """

    title = "the metastore"
    prefix = "rocketconnect-metastore-"
    source = Path(__file__).parent / "java" / "FolderOfS3.java"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_ports.choose()

    @property
    def uri(self) -> str:
        """As connectors name it."""
        return f"thrift://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """See Server."""
        settings = {
            "hive.metastore.warehouse.dir": f"file:{self.folder}/warehouse",
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.folder}/derby;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.async.log.enabled": "false",
            "fs.s3a.impl": self.source.stem,
            "folder.of.s3": f"{self.folder}/s3",
        }
        fields = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
        (self.folder / "hive-site.xml").write_text(f"<configuration>{fields}</configuration>")
        flags = [f"-Dderby.system.home={self.folder}", f"-Dhive.log.dir={self.folder}"]
        return self.java(f"{Path(pyspark.__file__).with_name('jars')}/*", flags, [_SERVER, "-p", str(self.port)])

    def answers(self) -> bool:
        """Whether it takes connections."""
        return takes_connections(self.port)
