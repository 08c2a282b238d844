"""Looks into dead-letter topics for people, corrects dead letters, and starts their replay."""
