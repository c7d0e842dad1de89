"""Tools for development and tests: a throwaway chain and a throwaway PostgreSQL."""
