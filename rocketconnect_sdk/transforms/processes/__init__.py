"""What users have written runs in processes of its own."""
