"""Tells whether a folder lies on a file system of the network, where locks may not hold."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
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
_DRIVE_REMOTE = 4  # GetDriveTypeW, winbase.h


def network_place(path: Path) -> str:
    """The name of the network file system that `path` lies on, "" when it lies on none or nobody
    knows. A path that does not exist is judged by the nearest folder above that does."""
    here = Path(os.path.realpath(path))
    system: str = sys.platform
    if system == "win32":
        return _of_drive(str(here))
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        if system == "linux":
            return of_mounts(Path("/proc/self/mountinfo").read_text("utf-8", "replace"), here)
        return of_mount_list(_mount_list(), here)
    return ""


def of_mounts(mountinfo: str, here: Path) -> str:
    """By the text of /proc/self/mountinfo (man 5 proc): the longest mount point above `here`, of
    equals the last, counts."""
    kinds: dict[str, str] = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if after and len(fields) > 4:
            kinds[_unescape(fields[4])] = after.split(" ")[0]
    return _name_of(kinds, here)


def of_mount_list(listed: str, here: Path) -> str:
    """By the output of `mount` on macOS and the BSDs: `from on /where (type, flags...)`."""
    kinds: dict[str, str] = {}
    for line in listed.splitlines():
        before, _, flags = line.rpartition(" (")
        point = before.partition(" on ")[2]
        if point:
            kinds[point] = flags.rstrip(")").split(",")[0].strip()
    return _name_of(kinds, here)


def _name_of(kinds: dict[str, str], here: Path) -> str:
    for folder in (here, *here.parents):
        if str(folder) in kinds:
            return _NETWORK.get(kinds[str(folder)], "")
    return ""


def _unescape(field: str) -> str:
    """Blanks, tabs, line ends and backslashes are octal there."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def _mount_list() -> str:
    done = subprocess.run(["/sbin/mount"], capture_output=True, timeout=2, check=True)
    return done.stdout.decode("utf-8", "replace")


def _of_drive(path: str) -> str:
    if path.startswith("\\\\?\\UNC\\") or (path.startswith("\\\\") and path[2:3] not in "?."):
        return "a network share"
    import ctypes

    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    root = os.path.splitdrive(path)[0] + "\\"
    return "a network share" if kernel.GetDriveTypeW(root) == _DRIVE_REMOTE else ""
