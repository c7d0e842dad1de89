"""`python -m tools.move`: after a move, everything that names the module still works."""

import subprocess
import sys

import pytest

from tools.move import Name, move

FILES = {
    "shop/__init__.py": '"""A shop: sales/till.py, shop/sales/cash/."""\n',
    "shop/core/__init__.py": "",
    "shop/sales/__init__.py": "",
    "shop/sales/till.py": """\
from typing import TYPE_CHECKING

from . import other
from .cash import coins

if TYPE_CHECKING:
    from shop.sales.cash.coins import Coin

NAME = __name__
SUM = other.ONE + coins.ONE


def open_it(coin: "Coin") -> None: ...
""",
    "shop/sales/other.py": "ONE = 1\n",
    "shop/sales/till_roll.py": "LENGTH = 80\n",
    "shop/sales/cash/__init__.py": "from shop.sales.cash import coins\n",
    "shop/sales/cash/coins.py": "from ..other import ONE\n\n\nclass Coin: ...\n",
    "uses.py": """\
# Umlauts move columns: äöü
from shop.sales import (
    other,  # the first
    # the second is one that moves
    till,
    till_roll as roll,
)
from shop.sales import till as box
from shop.sales.till import NAME, open_it
import shop.sales.till
import shop.sales.cash.coins as money
from typing import TYPE_CHECKING
from importlib import import_module
from pathlib import Path
from unittest import mock

if TYPE_CHECKING:
    from shop.sales import cash, other as another

ä, NAMES = "ö", (shop.sales.till.NAME, f"{shop.sales.till.NAME}", till.NAME, box.NAME, NAME)


def later() -> int:
    from shop.sales import cash, other  # here

    till = cash.coins.ONE  # see sales/till.py and sales/till_roll.py
    return till + other.ONE + money.ONE + import_module("shop.sales.cash.coins").ONE


with mock.patch("shop.sales.till.SUM", 5):
    assert till.SUM == 5
assert later() == 4
assert len(set(NAMES)) == 1
assert (Path(__file__).parent / "shop" / "sales" / "till.py").exists()
TEMPLATE = "sales/till.html sales/till"
""",
    "pyproject.toml": 'module = ["shop.sales.till", "shop.sales.cash.*", "shop.sales.till_roll"]\n',
    "Makefile": "run:\n\tpython -m shop.sales.till shop/sales/cash/coins.py shop/sales/cash.txt\n",
    "docs/shop.md": "See [it](../shop/sales/till.py#L1), `sales/cash/` and `sales/till_roll.py`.\n",
}


@pytest.fixture
def root(tmp_path, starts_processes):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def run_it(root):
    """Import every module, and run what uses them."""
    names = [str(path.relative_to(root)) for path in root.glob("shop/**/*.py")]
    modules = {each.removesuffix(".py").replace("/", ".") for each in names}
    code = "; ".join(f"import {each.removesuffix('.__init__')}" for each in ["uses", *modules])
    subprocess.run([sys.executable, "-Bc", code], cwd=root, check=True)


def test_a_module_and_a_package_move(root):
    run_it(root)
    changed, _ = move(root, Name("shop/sales/till.py"), Name("shop/core/till.py"))
    assert {"shop/core/till.py", "uses.py", "docs/shop.md", "Makefile"} <= set(changed)
    assert "shop/sales/other.py" not in changed
    run_it(root)
    _, to_look_at = move(root, Name("shop/sales/cash"), Name("shop/core/cash"))
    run_it(root)
    assert not (root / "shop/sales/cash").exists()
    uses = (root / "uses.py").read_text()
    assert "    other,  # the first\n" in uses
    assert "    # the second is one that moves\n" in uses
    assert "from shop.core import cash\n" in uses
    assert "    from shop.sales import other  # here\n" in uses
    assert "# see core/till.py and sales/till_roll.py" in uses
    assert 'TEMPLATE = "sales/till.html sales/till"' in uses
    texts = {name: (root / name).read_text() for name in FILES if (root / name).exists()}
    assert texts["shop/__init__.py"] == '"""A shop: core/till.py, shop/core/cash/."""\n'
    assert texts["pyproject.toml"] == (
        'module = ["shop.core.till", "shop.core.cash.*", "shop.sales.till_roll"]\n'
    )
    assert "shop.core.till shop/core/cash/coins.py shop/sales/cash.txt" in texts["Makefile"]
    assert texts["docs/shop.md"] == (
        "See [it](../shop/core/till.py#L1), `core/cash/` and `sales/till_roll.py`.\n"
    )
    assert to_look_at == []


def test_names_in_code_stay_where_the_module_gets_another_name(root):
    _, to_look_at = move(root, Name("shop/sales/till.py"), Name("shop/core/desk.py"))
    run_it(root)
    uses = (root / "uses.py").read_text()
    assert "from shop.core import desk as till\n" in uses
    assert "from shop.core import desk as box\n" in uses
    assert "shop.core.desk.NAME, " in uses
    assert to_look_at == ['uses.py:42: TEMPLATE = "sales/till.html sales/till"']
