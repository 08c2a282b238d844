"""The gateway: REST in front of the gRPC services.

Owns nothing. Promises that `/v1` is what the protos say (its routes, bodies and OpenAPI document are derived from their
descriptors), that the paths of RocketMQ Connect answer in their original shapes beside it, and that an answer tells the truth in
its HTTP status. Never decides anything about connectors: it asks the services that own them.
"""
