"""Files that are copied, emptied or replaced: what they held before, and where that is now."""
