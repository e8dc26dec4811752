"""Proof of the engine by simulation: the code that ships, over a scripted store, in virtual time, from a seed."""
