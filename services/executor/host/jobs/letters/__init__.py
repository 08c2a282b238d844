"""Dead letters that somebody changes or looks at."""
