"""Event streams in applications of yours: ``asgi`` for Starlette and FastAPI, ``wsgi`` for Flask and Django."""
