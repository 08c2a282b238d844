"""Puts the documents of its input, a line each, into the collection orders of the database shop."""

import json
import sys

from pymongo import MongoClient

(url,) = sys.argv[1:]
with MongoClient(url) as client:
    for line in sys.stdin:
        document = json.loads(line)
        client["shop"]["orders"].replace_one({"_id": document["_id"]}, document, upsert=True)
