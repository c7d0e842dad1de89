"""The catalog: events, ticket types, the public listing."""
