"""The remoting protocol without I/O: frames, headers, messages, routes, signatures as pure functions."""
