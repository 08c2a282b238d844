"""The metrics of RocketMQ exporter, from the same questions to brokers, with its names and labels.

Loaded where the setting `rocketmq_metrics` is on alone: the client of RocketMQ is for who needs it.
"""
