"""What is on sale: events, ticket types, the public listing."""
