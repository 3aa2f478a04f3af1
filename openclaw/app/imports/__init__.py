"""Takes over what another agent, or a folder of notes, holds. Begin with `app/importing.py`."""
