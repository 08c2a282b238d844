"""Values as rows of the log have them."""
