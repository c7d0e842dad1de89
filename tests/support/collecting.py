"""tools.collect, with the key of an account that has gas."""

import json
import secrets

from tools import collect

GAS_KEY = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""Of the last of anvil's accounts."""


def key_file(folder, *, mode=0o600):
    path = folder / "gas.key"
    path.write_text(f"{GAS_KEY}\n")
    path.chmod(mode)
    return path


def run(folder, capsys, url, file, *options, mode=0o600):
    """Run the tool. Return its exit code or message, and what it prints."""
    code = 0
    try:
        key = key_file(folder, mode=mode)
        collect.main([str(file), "--rpc", url, "--key-file", str(key), *options])
    except SystemExit as error:
        code = error.code
    told = capsys.readouterr()
    assert GAS_KEY[2:] not in told.out + told.err + str(code)
    return code, told.out + told.err


def recovery_file(folder, *wallets, chain_ids=(31337,), **fields):
    """Write a recovery file of (owner, secret, next_index), with `fields` in each wallet."""
    path = folder / "recovery.json"
    rows = [
        {
            "contract_version": 1,
            "owner": owner,
            "secret": "0x" + secret.hex(),
            "exchange": False,
            "minimum_deposit": None,
            "chain_ids": [*chain_ids],
            "other_chain_ids": [],
            "tokens": [],
            "next_index": next_index,
            "created_at": "2026-11-25T09:00:00Z",
            **fields,
        }
        for owner, secret, next_index in wallets
    ]
    file = {"kind": "ticketing-recovery", "version": 2, "tenant": "acme"}
    file["created_at"] = "2026-11-25T09:00:00Z"
    path.write_text(json.dumps({**file, "wallets": rows}))
    return path


def new_secret():
    return secrets.token_bytes(32)
