"""What connectors in Java have in common, be they of Kafka Connect or of RocketMQ Connect: the machine, and how it is asked."""
