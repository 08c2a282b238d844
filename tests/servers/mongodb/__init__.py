"""Servers that speak MongoDB's protocol."""
