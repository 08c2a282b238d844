"""A real Solr out of the jars of Maven: one server with its cores, and no SolrCloud."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from rocketconnect_kit.java.jars import jars_of, listed
from tests import free_ports
from tests.server_process import START_SECONDS, JavaServer

_HERE = Path(__file__).parent
VERSION = "8.11.4"
SOLR = listed(f"Solr {VERSION}", _HERE / f"solr-{VERSION}.jars")
_MOST = 100_000
_LOADING = 503
_CONFIG = """<config>
  <luceneMatchVersion>8.11.4</luceneMatchVersion>
  <schemaFactory class="ManagedIndexSchemaFactory"><bool name="mutable">true</bool></schemaFactory>
  <updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
  <requestHandler name="/select" class="solr.SearchHandler"/>
  <updateRequestProcessorChain name="tolerant">
    <processor class="solr.TolerantUpdateProcessorFactory"><int name="maxErrors">-1</int></processor>
    <processor class="solr.DistributedUpdateProcessorFactory"/>
    <processor class="solr.RunUpdateProcessorFactory"/>
  </updateRequestProcessorChain>
</config>
"""
_SCHEMA = """<schema name="tests" version="1.6">
  <fieldType name="string" class="solr.StrField" docValues="true"/>
  <fieldType name="long" class="solr.LongPointField" docValues="true"/>
  <fieldType name="date" class="solr.DatePointField" docValues="true"/>
  <fieldType name="double" class="solr.DoublePointField" docValues="true"/>
  <fieldType name="boolean" class="solr.BoolField"/>
  <field name="id" type="string" indexed="true" stored="true" required="true"/>
  <field name="_version_" type="long" indexed="false" stored="false"/>
  <field name="n" type="long" stored="true"/>
  <field name="queue" type="long" stored="true"/>
  <field name="offset" type="long" stored="true"/>
  <field name="price" type="double" stored="true"/>
  <field name="flag" type="boolean" stored="true"/>
  <field name="at" type="date" stored="true"/>
  <field name="day" type="date" stored="true"/>
  <field name="tags" type="string" stored="true" multiValued="true"/>
  <dynamicField name="*" type="string" stored="true"/>
  <uniqueKey>id</uniqueKey>
</schema>
"""


class Solr(JavaServer):
    """A server of Solr.

    Attributes:
        url: Of it, without /solr.
    """

    title = "Solr"
    prefix = "rocketconnect-solr-"
    source = _HERE / "SolrNode.java"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_ports.choose()
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """See Server."""
        home = self.folder / "home"
        config = home / "configsets" / "base" / "conf"
        config.mkdir(parents=True, exist_ok=True)
        (home / "solr.xml").write_text("<solr/>")
        (config / "solrconfig.xml").write_text(_CONFIG)
        (config / "managed-schema").write_text(_SCHEMA)
        flags = [f"-Dsolr.log.dir={self.folder}", "-Dlog4j2.level=WARN"]
        return self.java(f"{jars_of(SOLR)}/*", flags, [self.source.stem, str(home), str(self.port)])

    def answers(self) -> bool:
        """See Server."""
        try:
            return httpx.get(f"{self.url}/solr/admin/info/system", timeout=30).is_success
        except httpx.HTTPError:
            return False

    def make(self, name: str) -> str:
        """Makes a core, and returns its name."""
        asked = {"action": "CREATE", "name": name, "configSet": "base"}
        httpx.get(f"{self.url}/solr/admin/cores", params=asked, timeout=120).raise_for_status()
        return name

    def documents(self, name: str) -> dict[str, dict[str, Any]]:
        """The documents of a core by their ids, as it finds them."""
        self._ask(f"{name}/update", {"commit": "true"})
        return self.found(name)

    def found(self, name: str) -> dict[str, dict[str, Any]]:
        """Those that can be found now."""
        asked = {"q": "*:*", "rows": str(_MOST)}
        answer = self._ask(f"{name}/select", asked)
        kept = [{key: value for key, value in each.items() if not key.startswith("_")} for each in answer["response"]["docs"]]
        return {each["id"]: each for each in kept}

    def _ask(self, path: str, asked: Mapping[str, str]) -> Any:
        end = time.monotonic() + START_SECONDS
        while (answer := httpx.get(f"{self.url}/solr/{path}", params=asked, timeout=120)).status_code == _LOADING:
            assert time.monotonic() < end, answer.text
            time.sleep(0.1)
        return answer.raise_for_status().json()
