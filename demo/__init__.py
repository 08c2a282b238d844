"""The main job, for real: the flights of 2013 from a file through RocketMQ, and out through Spark, by configuration alone."""
