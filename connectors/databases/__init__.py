"""What connectors of databases have in common: how sessions end whose other side is gone, and TLS."""
