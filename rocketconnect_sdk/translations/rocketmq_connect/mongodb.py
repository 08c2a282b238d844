"""MongoDB."""

import json
import re

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.tables import Named, Nothing, Table, Unable

_TRUE = "true"


def _server(draft: Draft) -> None:
    """SHARD=SET/HOST:PORT,HOST:PORT of one replica set; of several a router is asked here."""
    text = draft.take("mongoAddr").rstrip("; ")
    if ";" in text:
        fix = "Give the address of a mongos as HOST:PORT."
        draft.refuse("mongoAddr", "names several replica sets, and a cluster is read through its routers here", fix)
    elif text:
        name, slash, servers = text.rpartition("/")
        parameters = [f"replicaSet={name.rpartition('=')[2]}"] if slash else []
        if _TRUE in (draft.take("ssl").lower(), draft.take("tsl").lower()):
            parameters.append("tls=true")
        draft.set("url", f"mongodb://{servers}/{'?' if parameters else ''}{'&'.join(parameters)}", "mongoAddr")
    if wanted := draft.take("interestDbAndCollection"):
        _collections(draft, wanted)
    draft.set("snapshot.mode", "initial" if draft.take("dataSync").lower() == _TRUE else "never", "dataSync")


def _collections(draft: Draft, text: str) -> None:
    try:
        value = json.loads(text)
        chosen = [(str(database), str(name)) for database, names in value.items() for name in names]
    except (ValueError, AttributeError, TypeError):
        fix = 'Write {"DATABASE": ["COLLECTION"]}; * stands for all collections.'
        draft.refuse("interestDbAndCollection", "is no JSON object of databases with lists of collections", fix)
        return
    draft.set("database.include", ",".join(dict.fromkeys(re.escape(each) for each, _ in chosen)), "interestDbAndCollection")
    patterns = [f"{re.escape(each)}\\.{'.*' if name == '*' else re.escape(name)}" for each, name in chosen]
    draft.set("collection.include", ",".join(patterns), "interestDbAndCollection")


_PLACE = Unable("is a place in the oplog, and places are positions here", "Leave it out, and set the position.", ("0",))
_TIMEOUTS = Nothing("a server that is away is waited for, and request.timeout says how long an answer may take")
_DRIVER = Nothing("it is a setting of a driver that is not used")
_STORE = Unable("is a keystore of Java", "Use ssl.ca.location, a file with certificates in PEM.")
_HOSTS = Unable("the name of the server is always verified", "Give its certificate the name that `url` has.", ("false",))

TABLES = (
    Table(
        "mongodb_source",
        ("org.apache.connect.mongo.connector.MongoSourceConnector",),
        {
            "mongoUserName": Named("user"),
            "mongoPassWord": Named("password"),
            "positionTimeStamp": _PLACE,
            "positionInc": _PLACE,
            "serverSelectionTimeoutMS": _TIMEOUTS,
            "connectTimeoutMS": _TIMEOUTS,
            "socketTimeoutMS": _TIMEOUTS,
            "compressors": _DRIVER,
            "zlibCompressionLevel": _DRIVER,
            "copyThread": _DRIVER,
            "maxConnectionIdleTime": _DRIVER,
            "socketKeepAlive": _DRIVER,
            "trustStore": _STORE,
            "trustStorePassword": _STORE,
            "tlsInsecure": _HOSTS,
            "sslInvalidHostNameAllowed": _HOSTS,
            "tlsAllowInvalidHostnames": _HOSTS,
        },
        _server,
        {"collection.topic": "${topic}"},
        ("Records are changes with the document (document.form, change.form), and not entries of the oplog.",),
    ),
)
