"""What a connector author imports."""
