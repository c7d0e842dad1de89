"""The database: the connection, migrations, backup."""
