"""What is wrong with the options of file_source and with the files that they name, and what may be."""
