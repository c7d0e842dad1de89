"""Who is next: tenants share the requests side by side fairly; half of them are for fast ones."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from ticketing.services.notifications.deliveries import Waiting
from ticketing.worker.delivery_schedule import MOST, MOST_SLOW, DeliverySchedule


@dataclass
class Ended:
    """What an endpoint's channel says after its turn."""

    endpoint: SimpleNamespace
    is_fast: bool = True
    is_manual: bool = False
    is_slow: bool = False
    is_free: bool = True
    task: object = None
    sequence: int = 0


@dataclass
class Crowd:
    """Endpoints of some tenants that all have much to deliver."""

    schedule: DeliverySchedule = field(default_factory=DeliverySchedule)
    waiting: dict = field(default_factory=dict)
    running: dict = field(default_factory=dict)

    def add(self, tenant_id, count, *, is_fast=True, is_failing=False, has_manual=False):
        for number in range(count):
            name = f"{tenant_id}-{is_fast}-{number}"
            each = Waiting(name, tenant_id, 0, 1000, is_failing, has_manual)
            self.waiting[name] = each
            if is_fast:
                self.schedule.ended(Ended(self.who(each)))
        self.schedule.replace(dict(self.waiting))

    def who(self, each):
        return SimpleNamespace(id=each.endpoint_id, tenant_id=each.tenant_id)

    def begin(self):
        """Begin what is chosen. Return the tenants of it, in order."""
        chosen = self.schedule.choose(self.running)
        for each in chosen:
            is_slow = not self.schedule.is_fast(each.endpoint_id)
            self.running[each.endpoint_id] = Ended(
                self.who(each), task="runs", is_slow=is_slow, is_free=False
            )
        return [each.tenant_id for each in chosen]

    def end(self, name, is_fast=True):
        ended = self.running.pop(name)
        ended.is_fast = is_fast
        self.schedule.ended(ended)


def test_places_are_shared_between_tenants_whatever_they_have_waiting():
    crowd = Crowd()
    crowd.add("a", 20)
    crowd.add("b", 20)
    crowd.add("c", 2)
    began = crowd.begin()
    assert len(began) == MOST
    assert (began.count("a"), began.count("b"), began.count("c")) == (15, 15, 2)
    assert crowd.begin() == []


def test_a_tenant_that_comes_later_is_next():
    crowd = Crowd()
    crowd.add("a", 20)
    crowd.add("b", 20)
    crowd.begin()
    crowd.add("late", 1)
    crowd.end("a-True-0")
    assert crowd.begin() == ["late"]


def test_one_tenant_gets_half_of_the_places_at_most():
    crowd = Crowd()
    crowd.add("a", 20)
    assert crowd.begin() == ["a"] * (MOST // 2)
    crowd.add("b", 1)
    assert crowd.begin() == ["b"]


def test_those_that_fail_or_are_not_known_get_half_of_the_places_at_most():
    crowd = Crowd()
    for tenant_id in "abc":
        crowd.add(tenant_id, 20, is_fast=False, is_failing=tenant_id == "a")
    began = crowd.begin()
    assert len(began) == MOST_SLOW
    assert max(began.count(each) for each in "abc") <= MOST_SLOW // 2
    crowd.add("d", 20)
    assert crowd.begin() == ["d"] * (MOST - MOST_SLOW)


def test_who_answered_slowly_or_failed_is_no_longer_fast():
    crowd = Crowd()
    crowd.add("a", 1)
    crowd.begin()
    crowd.end("a-True-0", is_fast=False)
    crowd.begin()
    assert crowd.running["a-True-0"].is_slow


def test_everybody_has_a_turn():
    crowd = Crowd()
    for tenant_id in "abcd":
        crowd.add(tenant_id, 20)
    had = set()
    for _ in range(80):
        crowd.begin()
        first = next(iter(crowd.running))
        had.add(first)
        crowd.end(first)
        crowd.schedule.replace(dict(crowd.waiting))
    assert had == set(crowd.waiting)


def test_the_feed_and_what_somebody_asked_for_take_turns():
    crowd = Crowd()
    crowd.add("a", 1, has_manual=True)
    kinds = []
    for _ in range(4):
        (wanted,) = crowd.schedule.choose({})
        kinds.append(wanted.is_manual)
        crowd.schedule.ended(Ended(crowd.who(wanted), is_manual=wanted.is_manual))
    assert kinds == [True, False, True, False]
    crowd.schedule.forget_manual("a-True-0")
    assert not crowd.schedule.choose({})[0].is_manual
