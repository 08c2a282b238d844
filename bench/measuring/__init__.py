"""What measurements need: a service or an instance under load, load itself, and what it costs."""
