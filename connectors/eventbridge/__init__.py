"""Rules that send records to targets: event patterns and input transformers as Amazon EventBridge has them."""
