"""The migration 0072 with wallets of before and after it."""

import pytest

from tests.api.test_wallet_address import LOCAL, OTHER, OWNER, put
from ticketing.db import migrate
from ticketing.models.wallets import Wallet


@pytest.mark.long
def test_contracts_that_were_accepted_before_go_on_selling(acme):
    for address in (OTHER, OWNER):
        assert put(acme, address=address, chain_ids=[LOCAL]).status_code == 200
    Wallet.update(code_on={LOCAL}).where(Wallet.owner == OWNER).execute()
    Wallet.update(no_code_on={LOCAL}).where(Wallet.owner == OTHER).execute()
    while migrate.downgrade() != ["0072_own_contracts"]:
        pass
    migrate.upgrade()
    wallets = {each.owner: each for each in Wallet.select()}
    assert (wallets[OWNER].contract_is_mine, wallets[OWNER].checked_chains) == (True, {LOCAL})
    assert (wallets[OTHER].contract_is_mine, wallets[OTHER].checked_chains) == (False, {LOCAL})
