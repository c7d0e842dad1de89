"""A gunicorn worker class in which a slow client never blocks a thread. It knows no tickets.

One loop receives requests completely and sends responses; threads only run the application. It
overrides private methods of one gunicorn: with any other, gunicorn.conf.py chooses gunicorn's own
threads and writes a warning.

shares.py: how many connections each process has, so that all have about the same number
supported.py: the known gunicorn, the warning, and the configurations that cannot start
worker.py: the loop; deadlines and maximum numbers for each client: above a maximum, the connection
    that has waited longest is closed
request_queue.py: two lines of requests that wait for a thread. Of four free threads, the first line
    gets three and the second one, if both wait. web/precedence.py decides the line
connection.py: one client's connection: the request that comes in, the response that goes out; the
    body of an upload goes to a file, after the application has seen the head
chunks.py: bodies with chunked transfer coding
files.py: files that a response sends from the disk
problems.py: errors of requests that never reach Flask: too slow, overloaded, malformed
"""
