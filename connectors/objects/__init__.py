"""Stores of objects: where they are, how they are reached, and what their errors mean."""
