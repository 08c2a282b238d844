"""Orders of people that no executor may carry out alone."""
