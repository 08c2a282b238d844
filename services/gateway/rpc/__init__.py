"""gRPC on the port of REST: the calls that REST offers, for the same callers."""
