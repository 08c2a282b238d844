"""A table in a catalogue that speaks Iceberg's REST protocol."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from connectors.iceberg_sink import catalogs
from connectors.iceberg_sink.catalogs import OVERTAKEN, Catalog, Overtaken, dict_of, java_name, local
from connectors.lakes.rest_catalogue import CatalogueRefused, RestLogin, refused
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.permissions.connections import check_url
from rocketconnect_sdk.permissions.forwarding import proxy
from rocketconnect_sdk.permissions.roots import writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TIMES = {"rest.client.connection-timeout-ms": "10000", "rest.client.socket-timeout-ms": "60000"}
_NOT_NOW = ("ServiceUnavailableException", "ServiceFailureException")


class RestCatalog(Catalog):
    """Iceberg's REST catalogue: the server makes the next state, where what a commit requires of the newest one is so.

    What commits require is which snapshot is the newest, and nothing of the properties: so each commit makes a snapshot, one that
    adds nothing where there are no rows.

    Args:
        login: Where it is, and who we are there.
        table: See Catalog.
        session: See Catalog.
    """

    makes_folders: ClassVar[bool] = False
    compares_all: ClassVar[bool] = False

    def __init__(self, login: RestLogin, table: str, session: "SparkSession") -> None:
        self._login = login
        super().__init__(Path(table), None, table, session)

    def load(self) -> Any | None:
        """See Catalog. Raises PermanentError: its files are not where connectors may write."""
        found = super().load()
        if found is not None:
            for location in (found.location(), found.locationProvider().newDataLocation("rows")):
                # Iceberg writes where the catalogue says.
                writing().check(local(str(location)))
        return found

    def create(self, schema: Any, spec: Any) -> None:
        """See Catalog."""
        parse = self._jvm.org.apache.iceberg.catalog.TableIdentifier.parse
        names = str(self._ident).split(".")
        with self._reached():
            # A catalogue makes a namespace in one that is there.
            for count in range(1, len(names)):
                self._make_namespace(parse(".".join([*names[:count], "table"])).namespace())
            self._make_table(self._builder(schema, spec).create)

    def publish(self, operations: Any, base: Any, made: Any) -> None:
        """See Catalog."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        with self._reached():
            try:
                catalogs.exchange(operations, base, made)
            except Py4JJavaError as error:
                if java_name(error) == "CommitStateUnknownException":
                    msg = f"{self._login}: the catalogue has not said what became of the commit: {_said(error)}"
                    raise RetriableError(msg) from None
                if java_name(error) not in OVERTAKEN:
                    raise
                # Who sends a request again, as clients and proxies do, is told that its own commit was faster.
                if not self._has(made):
                    msg = f"{self._root}: another commit was faster: {_said(error)}"
                    raise Overtaken(msg, wait=0.1) from None
            file = local(str(operations.current().metadataFileLocation()))
        with suppress(FileNotFoundError):
            # It is the server's file, which may have it on another machine, and may have replaced it meanwhile.
            for path in (file, file.parent):
                sync(path)

    def _has(self, made: Any) -> bool:
        """Whether the table has the snapshot of a commit."""
        found = super().load()
        return found is not None and found.snapshot(made.currentSnapshot().snapshotId()) is not None

    def _opened(self, properties: Mapping[str, str]) -> Any:
        login = self._login
        known = {"uri": login.url, **_TIMES, **_credentials(login), **properties}
        if login.warehouse:
            known["warehouse"] = login.warehouse
        for url in (login.url, login.tokens_url):
            check_url(url)
        if (through := proxy()) is not None:
            # Java looks names up by itself, and the catalogue may send it elsewhere.
            parts = urlsplit(through)
            known |= {"rest.client.proxy.hostname": str(parts.hostname), "rest.client.proxy.port": str(parts.port)}
        made = self._jvm.org.apache.iceberg.rest.RESTCatalog()
        made.setConf(self._session._jsc.hadoopConfiguration())  # noqa: SLF001
        with self._reached():
            made.initialize("rocketconnect", dict_of(self._jvm, known))
        return made

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raises SystemAway: the catalogue does not answer; CatalogueRefused: it does not let us in, or has no such warehouse."""
        from py4j.protocol import Py4JJavaError

        login = self._login
        try:
            yield
        except Py4JJavaError as error:
            match java_name(error):
                case "NotAuthorizedException":
                    raise refused(login, _said(error), is_known=False) from None
                case "ForbiddenException":
                    raise refused(login, _said(error), is_known=True) from None
                case "NoSuchWarehouseException":
                    fix = "Name a warehouse as the catalogue does."
                    reason = f"is no warehouse of the catalogue: {_said(error)}"
                    raise CatalogueRefused(login, "catalog.warehouse", reason, fix) from None
                case "BadRequestException":
                    msg = f"{login}: the catalogue refuses it: {_said(error)}. Change the table, or its columns"
                    raise PermanentError(msg) from None
                case "RESTException" | "UncheckedIOException":
                    msg = f"{login}: the catalogue does not answer: {_said(error)}"
                    raise SystemAway(msg) from None
                case name if name in _NOT_NOW:
                    msg = f"{login}: the catalogue cannot answer now: {_said(error)}"
                    raise SystemAway(msg) from None
            raise


def _credentials(login: RestLogin) -> Mapping[str, str]:
    """As Iceberg's clients are told who they are."""
    if login.token:
        return {"token": login.token}
    if not login.client:
        return {}
    return {
        "credential": f"{login.client}:{login.secret}",
        "scope": login.scope,
        "oauth2-server-uri": login.tokens_url,
        # A new token is asked for as the first one was: not all servers exchange one for the next.
        "token-exchange-enabled": "false",
    }


def _said(error: Any) -> str:
    """What an error of Java's and what has caused it say."""
    texts: list[str] = []
    found = error.java_exception
    while found is not None and len(texts) < 4:
        texts.append(str(found.getMessage()))
        found = found.getCause()
    return ": ".join(dict.fromkeys(texts))[:500]
