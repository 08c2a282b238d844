"""RocketMQ as a task sees it: queues, their map, marks, gaps, topics."""
