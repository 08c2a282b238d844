"""What a new connector is told of a deleted one that had its name: it does the same work once more, from the beginning."""
