"""The predicates that come with the SDK: a module each."""
