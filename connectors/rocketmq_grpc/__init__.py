"""Clusters of RocketMQ 5 that are reached by an endpoint of gRPC: proxies, and clouds."""
