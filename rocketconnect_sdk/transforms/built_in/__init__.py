"""The transforms that come with the SDK: a module each. A new one is a file here and its test."""
