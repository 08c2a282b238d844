"""All options of a connector, those of the runtime, and the check of a whole configuration."""
