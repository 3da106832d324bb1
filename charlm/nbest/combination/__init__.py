"""Lists of several systems put together."""
