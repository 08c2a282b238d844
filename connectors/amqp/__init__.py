"""AMQP 1.0, and JMS over it."""
