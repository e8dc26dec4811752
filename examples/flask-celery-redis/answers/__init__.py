"""A page that asks a model and shows the answer token by token, whatever happens meanwhile. See README.md."""
