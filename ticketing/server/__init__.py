"""How bytes become requests: gunicorn's worker, made so that no client holds a thread."""
