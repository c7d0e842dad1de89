"""The wire format and nothing else: a file a resource, known to the blueprints alone."""
