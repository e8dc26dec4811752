"""``tailrace conformance``: run the shipped contract cases against a store."""

from tailrace.cli.options import Json, Store


def conformance(store: Store = None, as_json: Json = False) -> None:
    """Hold a store against the contract, on topics of its own. Give a store where that does no harm."""
    raise NotImplementedError
