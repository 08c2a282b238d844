"""What a service author imports: errors and statuses, settings, serving, channels, watches, stores, logs, metrics."""
