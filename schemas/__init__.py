"""The wire format, one file per resource. Only web and blueprints import it."""
