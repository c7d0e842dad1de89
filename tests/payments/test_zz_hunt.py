import os, collections, sys
import pytest
sys.path.insert(0,'/tmp/w/g')
from tests.payments import test_property as t
from tests.support import world_core, world_sales, world_refunds, world_admissions, payments_world
from contextlib import contextmanager
from ticketing.errors import TicketingError
counts = collections.Counter()
orig = payments_world.World.do
names=[]
def do(self, event, mishap=None):
    names.append(event[0]); counts[event[0]]+=1
    try: return orig(self, event, mishap)
    finally: names.pop()
payments_world.World.do = do
@contextmanager
def refused(*codes):
    try:
        yield
        counts[names[-1]+" ok"]+=1
    except TicketingError as e:
        counts[names[-1]+" "+e.code]+=1
        assert e.code in codes, e
for m in (world_sales, world_refunds, world_admissions):
    m.refused = refused
try:
    from tests.support import world_door; world_door.refused = refused
except ImportError: pass
def show():
    print(sorted(counts.items()))
def test_fake(new_world):
    try: t.run(t.on_fake_chain(new_world), examples=int(os.environ["EX"]), is_long=True)
    finally: show()
def test_real(new_world, starts_processes):
    try: t.run(t.on_real_node(new_world), examples=int(os.environ["EX"]), is_long=True)
    finally: show()
