"""What the service knows of EVM chains. Nothing here knows of a database or of HTTP requests."""
