"""The tables of the config service, as its migrations make them."""

import sqlalchemy as sa

metadata = sa.MetaData()
connectors = sa.Table(
    "config_connectors",
    metadata,
    sa.Column("uid", sa.String(128), primary_key=True),
    sa.Column("name", sa.String(128)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("changed", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("wanted_state", sa.String(16)),
    sa.Column("type", sa.String(16)),
    sa.Column("create_time", sa.BigInteger),
    sa.Column("update_time", sa.BigInteger),
    sa.Column("restarts", sa.BigInteger),
    sa.Column("delete_time", sa.BigInteger),
    sa.Column("apply_set", sa.String(128)),
    sa.Column("cleanup_due", sa.BigInteger),
    sa.Column("cleanup_error", sa.Text),
    sa.Column("targets", sa.Text),
    sa.Column("origins", sa.Text),
)
origins = sa.Table(
    "config_origins",
    metadata,
    sa.Column("connector_uid", sa.String(128)),
    sa.Column("place", sa.String(64)),
    sa.Column("name", sa.String(64)),
)
forgotten = sa.Table("config_forgotten", metadata, sa.Column("connector_uid", sa.String(128), primary_key=True))
revisions = sa.Table(
    "config_revisions",
    metadata,
    sa.Column("sequence", sa.BigInteger, primary_key=True),
    sa.Column("connector_uid", sa.String(128)),
    sa.Column("connector", sa.String(128)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("create_time", sa.BigInteger),
)
requests = sa.Table(
    "config_requests",
    metadata,
    sa.Column("request_id", sa.String(128), primary_key=True),
    sa.Column("fingerprint", sa.String(64)),
    sa.Column("answer", sa.Text),
    sa.Column("create_time", sa.BigInteger),
)
workers = sa.Table(
    "config_workers",
    metadata,
    sa.Column("worker_id", sa.String(128), primary_key=True),
    sa.Column("address", sa.String(256)),
    sa.Column("plugins", sa.Text),
    sa.Column("aliases", sa.Text),
    sa.Column("update_time", sa.BigInteger),
)
sequence = sa.Table("config_changes", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("sequence", sa.BigInteger))
history = sa.Table(
    "config_history",
    metadata,
    sa.Column("sequence", sa.BigInteger, primary_key=True),
    sa.Column("connector_uid", sa.String(128)),
    sa.Column("connector", sa.String(128)),
    sa.Column("action", sa.String(16)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("of_revision", sa.BigInteger),
    sa.Column("author", sa.String(128)),
    sa.Column("on_behalf_of", sa.String(128)),
    sa.Column("reason", sa.Text),
    sa.Column("time", sa.BigInteger),
)
secrets = sa.Table(
    "config_secrets",
    metadata,
    sa.Column("name", sa.String(256), primary_key=True),
    sa.Column("sealed", sa.Text),
    sa.Column("update_time", sa.BigInteger),
)
