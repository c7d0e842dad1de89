"""The process that watches the chains."""
