"""The pieces of the PostgreSQL store: connections, tables, COPY data, and a new table's making."""
