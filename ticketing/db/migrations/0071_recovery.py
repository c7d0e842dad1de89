"""Store on which networks a wallet was ever sold on, and what recovery files say that it continues.

Until now a network that was taken off a wallet was forgotten. Its orders still name it.
"""

import json
from collections import defaultdict

from peewee import Database
from playhouse.migrate import SchemaMigrator

COLUMNS = {
    "wallets": ("all_chain_ids TEXT", "continued_tokens TEXT"),
    "pending_wallets": ("continued_chain_ids TEXT", "continued_tokens TEXT"),
}


def up(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    sold_on: dict[str, set[int]] = defaultdict(set)
    named = "SELECT id, chain_ids FROM wallets WHERE owner IS NOT NULL AND chain_ids <> ''"
    for wallet_id, chain_ids in db.execute_sql(named).fetchall():
        sold_on[wallet_id] |= set(map(int, chain_ids.split(",")))
    # Each order is read once. One that could be paid on several networks has them as JSON.
    ordered = (
        "SELECT DISTINCT i.wallet_id, i.chain_id, i.networks FROM payment_intents AS i"
        " JOIN wallets ON wallets.id = i.wallet_id WHERE wallets.owner IS NOT NULL"
        " AND i.chain_id IS NOT NULL"
    )
    for wallet_id, chain_id, networks in db.execute_sql(ordered).fetchall():
        sold_on[wallet_id] |= {chain_id, *(network[0] for network in json.loads(networks or "[]"))}
    update = f"UPDATE wallets SET all_chain_ids = {db.param} WHERE id = {db.param}"
    for wallet_id, found in sold_on.items():
        db.execute_sql(update, (",".join(map(str, sorted(found))), wallet_id))
    # Files that were saved until now lack all this.
    db.execute_sql("UPDATE wallets SET recovery_index = NULL WHERE owner IS NOT NULL")


def down(migrator: SchemaMigrator, db: Database) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            db.execute_sql(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
