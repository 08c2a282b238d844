"""The built-in connectors: one module (or one small package) each, named <system>_<source|sink>."""
