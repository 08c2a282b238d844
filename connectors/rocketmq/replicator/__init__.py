"""What is beside the messages of another cluster, kept here: topics, groups, and where these go on."""
