"""The worker: the process that reads the chains."""
