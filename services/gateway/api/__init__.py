"""The `/v1` API: from descriptors, nothing by hand."""
