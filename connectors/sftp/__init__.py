"""Files of servers that speak SFTP or FTP."""
