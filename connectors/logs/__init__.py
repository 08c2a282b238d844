"""Logs: files that grow, syslog, the journal of systemd."""
