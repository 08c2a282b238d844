"""What an executor and its host processes say to each other: one record a fact. Imports nothing else of the executor."""
