"""Request handling that all surfaces share: guards, limits, parsing, errors, caching, logging."""
