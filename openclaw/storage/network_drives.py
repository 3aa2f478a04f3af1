"""Tells whether a folder lies on a file system of the network, where locks may not hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_NETWORK = {
    "nfs": "NFS",
    "nfs4": "NFS",
    "cifs": "SMB",
    "smb3": "SMB",
    "smbfs": "SMB",
    "smb2": "SMB",
    "fuse.sshfs": "SSHFS",
    "fuse.rclone": "rclone",
    "fuse.s3fs": "S3",
    "fuse.davfs": "WebDAV",
    "fuse.gvfsd-fuse": "GVFS",
    "fuse.glusterfs": "GlusterFS",
    "davfs": "WebDAV",
    "webdav": "WebDAV",
    "9p": "9P",
    "afs": "AFS",
    "afpfs": "AFP",
    "ceph": "Ceph",
    "lustre": "Lustre",
    "ncpfs": "NCP",
    "vboxsf": "a VirtualBox share",
    "drvfs": "a Windows drive",
}
REMOTE = "a network share"


def network_place(path: Path) -> str:
    """The name of the network file system that `path` lies on, "" when it lies on none or nobody
    knows. A path that does not exist is judged by the nearest folder above that does."""
    import psutil

    here = Path(os.path.realpath(path))
    drive = here.drive.removeprefix("\\\\?\\UNC")
    if drive != here.drive or (drive.startswith("\\\\") and drive[2:3] not in "?."):
        return REMOTE
    try:
        mounted = psutil.disk_partitions(all=True)
    except (OSError, psutil.Error):
        return ""
    # Of several at one place the last counts. Windows names no kind of drive but says "remote".
    kinds = {
        each.mountpoint: REMOTE if "remote" in each.opts.split(",") else each.fstype
        for each in mounted
    }
    return of_mounts(kinds, here)


def of_mounts(kinds: Mapping[str, str], here: Path) -> str:
    """By the kinds of file systems by mount point: the nearest one above `here` counts."""
    nearest = next((str(at) for at in (here, *here.parents) if str(at) in kinds), "")
    kind = kinds.get(nearest, "")
    return _NETWORK.get(kind, REMOTE if kind == REMOTE else "")
