"""A gRPC server as every service runs it."""
