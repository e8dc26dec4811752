"""Durable, resumable streams on the store you already run."""
