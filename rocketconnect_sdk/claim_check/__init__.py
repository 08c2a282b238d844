"""Large bodies beside the topic: a source stores them in a store of objects, and sends messages that refer to them."""
