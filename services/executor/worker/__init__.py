"""What this worker is to run and runs: its place in the cluster, its lease, its tasks, its reports."""
