"""What HDFS alone has for who reads it."""

import pytest

from connectors.object_store_source import ObjectStoreSource
from connectors.object_store_source.files import COPYING, FilesFolder
from connectors.object_store_source.listing import Gone
from connectors.objects.location import HDFS, Location
from connectors.objects.logins import HdfsLogin
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Position
from tests.connectors.object_store_source.objects import opened, read
from tests.connectors.stores import made_bucket
from tests.servers.hdfs import USER, Hdfs

# Hadoop takes half a minute of processor to start.
pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(hdfs_server: Hdfs) -> str:
    """A folder that everybody may write."""
    return made_bucket(hdfs_server)


@pytest.fixture
def options(hdfs_server: Hdfs, bucket: str) -> dict[str, str]:
    """Of the source."""
    return hdfs_server.options() | {"url": f"hdfs:///{bucket}/data", "format": "text", "follow": "false"}


def test_what_is_not_whole_yet_is_left_out_and_read_when_it_has_its_name(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str]
) -> None:
    for name in ("a/x", "a/y._COPYING_", "_temporary/0/z", ".hive-staging_1/z", "b/c/.z.crc"):
        hdfs_server.put(bucket, f"data/{name}", name.encode())
    positions = dict[str, Position]()
    task = opened(options)
    task.start(positions)
    assert read(task, positions) == ["a/x"]
    hdfs_server.ask("PUT", f"{bucket}/data/a/y._COPYING_", "RENAME", destination=f"/{bucket}/data/a/y")
    task = opened(options)
    task.start(positions)
    assert read(task, positions) == ["a/y._COPYING_"]


def test_a_file_that_is_cut_off_or_removed_while_it_is_read_is_gone(hdfs_server: Hdfs, bucket: str) -> None:
    hdfs_server.put(bucket, "data/a", b"x" * 1000)
    place = Location(HDFS, "", f"{bucket}/data")
    folder = FilesFolder(place, HdfsLogin(hdfs_server.url, USER).files(place), (COPYING,))
    (found,) = folder.all()
    assert folder.read(found, 900, 100) == b"x" * 100
    hdfs_server.put(bucket, "data/a", b"x" * 10)
    with pytest.raises(Gone):
        folder.read(found, 900, 100)
    hdfs_server.delete(bucket, "data/a")
    with pytest.raises(Gone):
        folder.read(found, 900, 100)


def test_a_folder_that_is_not_there_is_a_warning_and_waited_for(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    (only,) = ObjectStoreSource().check(parse(ObjectStoreSource.options, options))
    assert (only.key, only.reason, only.is_warning) == ("url", "is not there yet", True)
    task = opened(options)
    task.start({})
    with pytest.raises(SystemAway, match="is no folder, or not there yet"):
        task.poll()
    hdfs_server.put(bucket, "data", b"")
    (only,) = ObjectStoreSource().check(parse(ObjectStoreSource.options, options))
    assert (only.key, only.reason, only.is_warning) == ("url", "is a file", False)


def test_a_folder_that_the_user_may_not_list_is_told(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    hdfs_server.put(bucket, "data/a", b"x")
    hdfs_server.ask("PUT", f"{bucket}/data", "SETPERMISSION", permission="700")
    (only,) = ObjectStoreSource().check(parse(ObjectStoreSource.options, options))
    assert (only.key, only.is_warning) == ("user.name", False)
    task = opened(options)
    task.start({})
    with pytest.raises(PermanentError, match="does not allow it"):
        task.poll()


def test_a_line_of_csv_with_another_delimiter_is_told(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    hdfs_server.put(bucket, "data/a.csv", b"id;name;city\n1;a;b\n")
    (only,) = ObjectStoreSource().check(parse(ObjectStoreSource.options, options | {"format": "csv"}))
    assert (only.key, only.is_warning) == ("csv.delimiter", True)
