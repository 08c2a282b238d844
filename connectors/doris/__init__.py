"""Apache Doris: loads over HTTP, statements over the protocol of MySQL, and the types of its columns."""
