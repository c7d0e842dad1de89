"""The committed bytes are those of the sources, and the checkers find nothing new in these."""

import pytest

from ticketing.chain import receivers
from ticketing.chain.keccak import keccak256
from tools import solidity

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]


def test_every_byte_follows_from_the_sources():
    for path, text in solidity.built().items():
        assert path.read_text() == text, path.name


def test_the_sources_have_the_bytes_at_the_factory():
    (compiled,) = [
        contract
        for name, contract in solidity.compile_folder(solidity.RECEIVERS).items()
        if name == "Receivers"
    ]
    # The compiler leaves zeros where the constructor writes the implementation's address.
    runtime = compiled["runtime"][2:]
    word = bytes(12).hex() + receivers.IMPLEMENTATION[2:].lower()
    assert runtime.count("7f" + "00" * 32) > 0
    filled = bytes.fromhex(runtime.replace("7f" + "00" * 32, "7f" + word))
    assert keccak256(filled).hex() == receivers.FACTORY_CODE_HASH


def test_solhint_finds_nothing():
    solidity.lint()
