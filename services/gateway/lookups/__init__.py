"""What the faces beside `/v1` ask the services, before each gives it its own shape."""
