"""Stores, one folder each. They import the SPI and their driver; never the engine, never each other."""
