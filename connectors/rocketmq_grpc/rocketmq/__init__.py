"""Messages of RocketMQ's messaging service, made by `make proto` of third_party/protos/rocketmq."""
