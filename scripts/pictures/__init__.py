"""Pictures of dashboards for docs/monitoring.md, of a run that goes wrong on purpose."""
