"""The tables, a file an aggregate."""
