"""What statements of the log do to rows of tables of which it has no rows."""
