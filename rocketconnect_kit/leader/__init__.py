"""One leader among the replicas of a service."""
