"""Systems that speak HTTP."""
