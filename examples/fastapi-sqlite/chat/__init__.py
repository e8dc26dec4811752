"""A page that asks a model and shows the answer word by word, whatever happens meanwhile. See README.md."""
