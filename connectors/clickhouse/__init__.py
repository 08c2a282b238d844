"""ClickHouse over its HTTP interface: how it is reached, the types of its columns, and values as it reads them."""
