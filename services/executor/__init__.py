"""The executor service: a worker.

Owns nothing durable. Pulls its assignment from the cluster service, runs the tasks in host processes, reports what they do, and
checks and plans connectors. Promises: kill it, and its hosts are gone with it and another worker can go on from the positions.
Never loads plugin code, Spark or Arrow into its own process.
"""
