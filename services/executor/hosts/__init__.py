"""Host processes as the executor holds them: started, pooled, told, ended."""
