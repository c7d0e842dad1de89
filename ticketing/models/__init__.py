"""The database tables, one file per aggregate."""
