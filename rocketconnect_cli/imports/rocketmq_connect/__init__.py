"""`rocketconnect import rocketmq-connect`: connectors of RocketMQ Connect, from the files that its workers store."""
