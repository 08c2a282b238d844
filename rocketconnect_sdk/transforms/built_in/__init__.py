"""The transforms that come with the SDK: a module each, by what they change. A new one is a file here and its test."""
