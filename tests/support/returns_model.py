"""A model of seats that are given back: the state, the moves, and what must always be true.

Two ticket types share the capacity of an event. A seat that is offered back is still sold. It is
only counted, in the pool of its type: `offered`, of which orders want `taken`. When such an
order is confirmed for good, the oldest offered seat of the type becomes void, and its order is owed
(`swap`). Nothing else of the stock moves: one seat goes, one comes.

Each move has a guard. Without any one of GUARDS, the model finds a breach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

GUARDS = ("pool", "withdraw", "door", "type", "void")
CAPACITY, OF_TYPE = 3, {"A": 2, "B": 3}


class Breach(AssertionError):
    """Something that must always be true is not."""


@dataclass
class Seat:
    """A seat that was sold. `inside`: how many people are inside with it."""

    number: int
    type: str
    paid: int
    is_void: bool = False
    is_offered: bool = False
    is_new: bool = False
    generation: int = 1
    inside: int = 0
    owed: int = 0


@dataclass
class Hold:
    """An order that is not paid yet, or not for good. `pooled`: it takes a seat of the pool."""

    type: str
    pooled: bool
    seat: Seat | None = None


@dataclass
class Device:
    """A device at the door that is offline, with the seats that it knew to be good."""

    knows: dict[int, int] = field(default_factory=dict)


class World:
    """One event. `without` is the guard that is left out."""

    def __init__(self, random: Random, without: str | None = None) -> None:
        self.random, self.without = random, without
        self.seats: list[Seat] = []
        self.holds: list[Hold] = []
        self.held, self.sold = {"A": 0, "B": 0}, {"A": 0, "B": 0}
        self.offered, self.taken = {"A": 0, "B": 0}, {"A": 0, "B": 0}
        self.devices = [Device(), Device()]
        self.is_canceled = False
        self.conflicts = 0
        self.moves: list[str] = []

    def has(self, guard: str) -> bool:
        """Return whether a guard is in place."""
        return guard != self.without

    def run(self, steps: int) -> None:
        """Make random moves. Breach."""
        moves: list[Callable[[], None]] = [
            self.order, self.order, self.pay, self.pay, self.swap, self.expire, self.offer,
            self.offer, self.withdraw, self.void, self.transfer, self.sync, self.scan, self.scan,
            self.scan_offline,
        ]  # fmt: skip
        for _ in range(steps):
            move = self.random.choice(moves)
            if self.random.random() < 0.01:
                move = self.cancel
            self.moves.append(move.__name__)
            move()
            self.check()

    def order(self) -> None:
        """Hold a seat: of the capacity, else of the pool."""
        wanted = self.random.choice("AB")
        if self.is_canceled:
            return
        everything = sum(self.held.values()) + sum(self.sold.values())
        if everything < CAPACITY and self.held[wanted] + self.sold[wanted] < OF_TYPE[wanted]:
            self.held[wanted] += 1
            self.holds.append(Hold(wanted, pooled=False))
        elif self.taken[wanted] < self.offered[wanted] or (
            not self.has("pool") and self.offered[wanted]
        ):
            self.taken[wanted] += 1
            self.holds.append(Hold(wanted, pooled=True))

    def pay(self) -> None:
        """Confirm an order. One of the pool moves no stock until it is swapped."""
        waiting = [each for each in self.holds if each.seat is None]
        if not waiting:
            return
        hold = self.random.choice(waiting)
        hold.seat = Seat(len(self.seats), hold.type, paid={"A": 10, "B": 100}[hold.type])
        self.seats.append(hold.seat)
        if hold.pooled:
            hold.seat.is_new = True
        else:
            self.held[hold.type] -= 1
            self.sold[hold.type] += 1
            self.holds.remove(hold)

    def swap(self) -> None:
        """The payment of an order of the pool is final: the oldest offered seat goes for it."""
        ready = [each for each in self.holds if each.pooled and each.seat is not None]
        if not ready:
            return
        hold = self.random.choice(ready)
        offered = [
            each
            for each in self.seats
            if each.is_offered and (each.type == hold.type or not self.has("type"))
        ]
        if not offered:
            raise Breach("somebody paid for a seat that nobody gives back")
        old = self.random.choice(offered) if not self.has("type") else offered[0]
        old.is_void, old.is_offered, old.owed = True, False, old.paid
        self.offered[hold.type] -= 1
        self.taken[hold.type] -= 1
        if hold.seat is not None:
            hold.seat.is_new = False
            if old.owed > hold.seat.paid:
                raise Breach("more is owed for a seat than its buyer paid")
        self.holds.remove(hold)

    def expire(self) -> None:
        """An order that is not paid ends."""
        waiting = [each for each in self.holds if each.seat is None]
        if waiting:
            hold = self.random.choice(waiting)
            if hold.pooled:
                self.taken[hold.type] -= 1
            else:
                self.held[hold.type] -= 1
            self.holds.remove(hold)

    def offer(self) -> None:
        """A holder gives a seat back."""
        good = [
            each
            for each in self.seats
            if not (each.is_void or each.is_offered or each.inside or each.is_new)
        ]
        good = [each for each in good if each.generation == 1]
        if good and not self.is_canceled:
            seat = self.random.choice(good)
            seat.is_offered = True
            self.offered[seat.type] += 1

    def take_from_pool(self, seat: Seat, guard: str) -> bool:
        """End the offer of a seat, unless an order counts on it. Return whether it ended."""
        if self.has(guard) and self.taken[seat.type] > self.offered[seat.type] - 1:
            return False
        seat.is_offered = False
        self.offered[seat.type] -= 1
        return True

    def withdraw(self) -> None:
        """A holder wants the seat back."""
        offered = [each for each in self.seats if each.is_offered]
        if offered:
            self.take_from_pool(self.random.choice(offered), "withdraw")

    def void(self) -> None:
        """The organizer takes a seat back."""
        good = [each for each in self.seats if not each.is_void and not each.inside]
        if not good:
            return
        seat = self.random.choice(good)
        if seat.is_offered and not self.take_from_pool(seat, "void"):
            return
        seat.is_void, seat.owed = True, seat.paid
        of_pool = next((each for each in self.holds if each.seat is seat), None)
        if of_pool is None:
            self.sold[seat.type] -= 1
        else:
            self.taken[seat.type] -= 1
            self.holds.remove(of_pool)

    def transfer(self) -> None:
        """A seat gets another holder, and another code."""
        good = [each for each in self.seats if not (each.is_void or each.inside)]
        good = [each for each in good if not (each.is_offered or each.is_new)]
        if good:
            self.random.choice(good).generation += 1

    def cancel(self) -> None:
        """The event is canceled: everything is owed once."""
        self.is_canceled = True
        for seat in self.seats:
            if not seat.is_void:
                seat.is_void, seat.is_offered, seat.is_new, seat.owed = (
                    True,
                    False,
                    False,
                    seat.paid,
                )
        self.holds.clear()
        for count in (self.held, self.sold, self.offered, self.taken):
            count.update(A=0, B=0)

    def sync(self) -> None:
        """A device reads which seats are good. One that is offered is none."""
        device = self.random.choice(self.devices)
        good = [each for each in self.seats if not (each.is_void or each.is_offered)]
        device.knows = {each.number: each.generation for each in good}

    def scan(self) -> None:
        """Somebody is at the door, with a screenshot of a seat: the server decides."""
        if self.seats:
            seat = self.random.choice(self.seats)
            if self.may_enter(seat):
                seat.inside += 1

    def may_enter(self, seat: Seat) -> bool:
        """Return whether the server lets a seat in: the one function that knows."""
        if seat.is_void or seat.inside:
            return False
        return not seat.is_offered or self.take_from_pool(seat, "door")

    def scan_offline(self) -> None:
        """A device lets in whom it knew to be good. The server hears of it later."""
        device = self.random.choice(self.devices)
        if device.knows:
            number, generation = self.random.choice(sorted(device.knows.items()))
            del device.knows[number]
            seat = self.seats[number]
            if seat.generation == generation and self.may_enter(seat):
                seat.inside += 1
            else:
                self.conflicts += 1

    def check(self) -> None:
        """Check what must always be true. Breach."""
        for type, capacity in OF_TYPE.items():
            offered = sum(each.is_offered for each in self.seats if each.type == type)
            pooled = [each for each in self.holds if each.pooled and each.type == type]
            good = sum(not each.is_void for each in self.seats if each.type == type)
            paid = sum(each.seat is not None for each in pooled)
            if not 0 <= self.taken[type] <= self.offered[type]:
                raise Breach("more is taken than offered")
            if self.offered[type] != offered or self.taken[type] != len(pooled):
                raise Breach("the pool is not what seats and orders say")
            if self.sold[type] != good - paid or min(self.sold[type], self.held[type]) < 0:
                raise Breach("sold is not what seats say")
            if self.held[type] + self.sold[type] > capacity:
                raise Breach("a type is oversold")
        if sum(self.held.values()) + sum(self.sold.values()) > CAPACITY:
            raise Breach("the event is oversold")
        inside = sum(each.inside for each in self.seats)
        left = sum(not each.is_void and not each.inside for each in self.seats)
        swaps = sum(each.is_new for each in self.seats if not each.is_void)
        if not self.is_canceled and inside + left - swaps > CAPACITY:
            raise Breach("more people than seats can be inside")
        if any(each.inside > 1 or each.owed > each.paid for each in self.seats):
            raise Breach("somebody is inside twice, or owed too much")
        if any(each.owed and each.inside and not self.is_canceled for each in self.seats):
            raise Breach("somebody is inside and paid back")
