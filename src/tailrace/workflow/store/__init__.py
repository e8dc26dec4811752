"""Workflow Streams in a database: each operation is one transaction."""
