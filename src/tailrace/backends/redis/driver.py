"""The packages that this store needs: imported before anything else of it, to say what to install."""

try:
    import hiredis  # noqa: F401
    import redis  # noqa: F401
except ModuleNotFoundError as missing:
    # Of the same kind and name, for whoever asks for the store by a URL and tells it in words of that.
    message = f"the Redis store needs the package {missing.name}: pip install 'tailrace[redis]'"
    raise ModuleNotFoundError(message, name=missing.name) from None
