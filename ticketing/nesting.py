"""Limit the nesting depth of JSON, before it is parsed: for what others send.

The code is in `chain`. That folder imports nothing else of the service, so `tools.collect` works
with it alone when everything else is lost.
"""

from ticketing.chain.nesting import is_too_deep

__all__ = ["is_too_deep"]
