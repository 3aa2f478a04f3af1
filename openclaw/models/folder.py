"""Where models are kept, and what is known of them."""

from __future__ import annotations

import os
from pathlib import Path

from openclaw.files.user_folders import data_folder


def models_folder() -> Path:
    """OPENCLAW_MODELS, else the data folder of this user. It may not be there yet."""
    if named := os.environ.get("OPENCLAW_MODELS"):
        return Path(named).expanduser()
    return data_folder() / "models"


def profiles_folder() -> Path:
    """Where profiles are kept (`openclaw.models.profile`). It may not be there yet."""
    return models_folder() / "profiles"
