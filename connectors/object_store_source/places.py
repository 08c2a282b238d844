"""The objects of a place of any kind."""

from pathlib import Path

from connectors.object_store_source.listing import Bucket, Folder, Objects
from connectors.objects.files import FilesLogin
from connectors.objects.location import FOLDER, Location
from connectors.objects.logins import Login


def objects_of(place: Location, login: Login | None) -> Objects:
    """Those of a place. Asks nobody."""
    if place.kind == FOLDER or login is None:
        return Folder(Path(place.prefix))
    if isinstance(login, FilesLogin):
        from connectors.object_store_source.files import COPYING, FilesFolder

        return FilesFolder(place, login.files(place), (COPYING,))
    return Bucket(place, login)
