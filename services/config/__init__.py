"""The config service owns connector configurations, their revisions, the wanted state, and what plugins executors offer.

It promises: a revision is written once; a create with the same request id is the same create; what is answered is on disk;
a secret is stored as a reference. It never runs a connector and never loads plugin code.
"""
