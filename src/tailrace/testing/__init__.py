"""The shipped contract kit: cases for your own store, fault tools, and leak checks.

Nothing is imported here: ``tailrace.testing.plugin`` is loaded by every pytest run of every project
that has this package installed, and must stay cheap. Start at ``tailrace.testing.contract``.
"""
