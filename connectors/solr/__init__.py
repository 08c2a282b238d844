"""Apache Solr."""
