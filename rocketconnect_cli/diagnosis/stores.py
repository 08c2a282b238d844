"""Which revisions the tables of the stores have. Makes nothing, and locks nothing."""

from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from rocketconnect_cli.api import ApiError
from rocketconnect_cli.backups import schema
from rocketconnect_cli.backups.endpoints import ORDER, places
from rocketconnect_cli.diagnosis.bundle import Bundle
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.store import database


def revisions(bundle: Bundle, data: Path, store_url: str, own: list[str]) -> None:
    """Add the revision and the size of each store, and which revisions are known here."""
    try:
        found = places(data, store_url, own, ORDER)
    except ApiError as error:
        bundle.miss("stores", str(error))
        return
    told: dict[str, dict[str, object]] = {}
    for place in found:
        services = " and ".join(place.services)
        if place.file is not None and not place.file.is_file():
            bundle.miss(f"store of {services}", f"there is none at {place}: name it with --data, --store-url or --store")
            continue
        if not bundle.left:
            bundle.miss(f"store of {services}", "the time was over; give more with --timeout")
            continue
        engine = database.engine(place.url, writes=False)
        try:
            with database.reading(engine) as connection:
                for service in place.services:
                    revision, known = schema.revision_of(connection, service), schema.revisions(service)
                    told[service] = {"place": str(place), "revision": revision or "no tables", "known": known}
                    if place.file is not None:
                        told[service]["bytes"] = place.file.stat().st_size
                    if revision not in known:
                        bundle.see(f"the store of {service} has revision {revision or 'none'}; known here: up to {known[-1]}")
        except (ServiceError, SQLAlchemyError, OSError) as error:
            bundle.miss(f"store of {services}", str(error).partition("\n")[0])
        finally:
            engine.dispose()
    bundle.document("stores.json", told)
