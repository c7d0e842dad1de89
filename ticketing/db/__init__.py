"""The database: connections, transactions, locks, migrations, backup.

SQLite (WAL, synchronous FULL, `BEGIN IMMEDIATE`) and Postgres run the same code and migrations.
Each thread has one connection. Times are UTC: TIMESTAMPTZ, or text of fixed width on SQLite. `db`
imports only constants; `models` and everything above import `db`.

connection.py: `write_transaction` applies all or nothing; `snapshot` reads one state; `locked`
    locks rows, which on SQLite the transaction does by itself; after an error, the thread's
    connection is closed and the next query opens a new one
locks.py: the order in which every transaction locks rows
migrate.py: applies what is in migrations/, in order and under a lock, so several processes may do
    it
backup.py: copies the SQLite database while the service runs
reserve.py: a file that keeps room on the disk, so that housekeeping can delete when it is full
pruning.py: deletes old rows some at a time, so that no statement holds locks for long
"""
