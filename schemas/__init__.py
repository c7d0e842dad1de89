"""The wire format and nothing else, a file a resource. Only web and blueprints import it."""
