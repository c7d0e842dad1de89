"""The HTML surfaces. A page calls the services that the API calls."""
