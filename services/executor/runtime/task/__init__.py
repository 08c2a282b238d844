"""What every task has: control, lease, reporter, meter, retries."""
