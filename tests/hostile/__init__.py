"""Homes that a stranger has made, drawn by seed, and what the program does with them."""
