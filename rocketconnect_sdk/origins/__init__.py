"""What sources read: when two of them read the same into one topic, each record is there twice."""
