"""The waiting room: while a sale has more visitors than the service can serve, they come in order.

Everybody who comes gets a place: the second of their arrival, and a lot within it. A signed token
has it, so the service stores nothing for each person, only how many came in each second. One row of
each room says up to which place people are admitted. Once a second, the process that is the first
to notice moves it: with one conditional UPDATE, so a process that dies leaves nothing behind.

places.py: a place, and its token
newcomers.py: who is counted: few people of each network
arrivals.py: how many people are before a place
pauses.py: after how many seconds somebody who waits asks again
admitting.py: how many are admitted next, from the response times of all processes
seats.py: how many seats people who are admitted now could find
turns.py: who is admitted may order once; few people of a network at a time
opening.py: a room opens and closes, by itself or by its organizer
rooms.py: what each process keeps of the open rooms for a second, so a page costs no SQL
entrance.py: what an order asks before it is made
figures.py, networks.py: what organizers see; who waits, by network
"""
