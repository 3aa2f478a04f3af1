"""Pure rules on text, addresses and paths, and the vault. Beside config, above files."""
