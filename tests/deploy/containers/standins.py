"""Images that stand in for public ones, which no registry here has: their commands, users and paths, with Debian's programs."""

import shutil
from pathlib import Path

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from tests.deploy.containers.base import BASE
from tests.deploy.containers.engine import Engine
from tests.deploy.dockerfile import ROOT

ROCKETMQ = "localhost/rocketconnect/rocketmq:test"
POSTGRES = "localhost/rocketconnect/postgres:test"
PROMETHEUS = "localhost/rocketconnect/prometheus:test"
ALERTMANAGER = "localhost/rocketconnect/alertmanager:test"

_INSTALL = (
    "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold"
)
_POSTGRES = """\
#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?}"
    echo "$POSTGRES_PASSWORD" >/tmp/password
    initdb --encoding UTF8 --username "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256 --auth-local trust
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    pg_ctl --options "-c listen_addresses=" --wait start
    createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --mode fast --wait stop
fi
exec postgres -c listen_addresses=*
"""


def rocketmq(engine: Engine, context: Path) -> str:
    """Build RocketMQ's, of the jars of the embedded one, in an empty folder; return its name."""
    java = "localhost/rocketconnect/java:test"
    engine.build(ROOT, ROOT / "deploy/docker/Dockerfile", java, target="java", arguments={"BASE": BASE})
    (context / "Dockerfile").write_text(
        f"FROM {java}\n"
        "RUN useradd --uid 3000 --create-home rocketmq\n"
        "COPY jars /home/rocketmq/jars\n"
        "COPY bin /home/rocketmq/bin\n"
        "WORKDIR /home/rocketmq/bin\n"
        "ENV ROCKETMQ_HOME=/home/rocketmq\n"
        "USER rocketmq\n"
        "HEALTHCHECK NONE\n"
    )
    shutil.copytree(rocketmq_jars(), context / "jars")
    (context / "bin").mkdir()
    opened = "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED"
    for name, main in (("mqnamesrv", "namesrv.NamesrvStartup"), ("mqbroker", "broker.BrokerStartup")):
        text = f'exec java -Xmx512m {opened} -cp "/home/rocketmq/jars/*" org.apache.rocketmq.{main} "$@"\n'
        (context / "bin" / name).write_text(text)
    engine.build(context, context / "Dockerfile", ROCKETMQ)
    return ROCKETMQ


def postgres(engine: Engine, context: Path) -> str:
    """Build PostgreSQL's, in an empty folder; return its name."""
    (context / "entrypoint").write_text(_POSTGRES)
    (context / "entrypoint").chmod(0o755)
    (context / "Dockerfile").write_text(
        f"FROM {BASE}\n"
        "RUN mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf\n"
        f"RUN {_INSTALL} postgresql-15\n"
        "RUN install -d -o postgres -g postgres /var/lib/postgresql/data\n"
        "COPY entrypoint /entrypoint\n"
        "ENV PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data\n"
        "USER postgres\n"
        "VOLUME /var/lib/postgresql/data\n"
        'ENTRYPOINT ["/entrypoint"]\n'
        "STOPSIGNAL SIGINT\n"
    )
    engine.build(context, context / "Dockerfile", POSTGRES)
    return POSTGRES


def watchers(engine: Engine, context: Path) -> dict[str, str]:
    """Build those of Prometheus and Alertmanager, in an empty folder; return their names by service."""
    (context / "Dockerfile").write_text(
        f"FROM {BASE} AS watchers\n"
        f"RUN {_INSTALL} prometheus prometheus-alertmanager\n"
        "RUN install -d -o nobody -g nogroup /prometheus /alertmanager\n"
        "USER nobody\n"
        "FROM watchers AS prometheus\n"
        'ENTRYPOINT ["/bin/prometheus"]\n'
        "FROM watchers AS alertmanager\n"
        'ENTRYPOINT ["/bin/prometheus-alertmanager"]\n'
    )
    named = {"prometheus": PROMETHEUS, "alertmanager": ALERTMANAGER}
    for target, name in named.items():
        engine.build(context, context / "Dockerfile", name, target=target)
    return named
