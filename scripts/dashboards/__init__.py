"""The dashboards of Grafana: each panel answers a question, what is wrong stands first."""
