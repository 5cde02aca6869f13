"""What is to run again and again: job schedulers and repeatable jobs, as they stand on the server."""
