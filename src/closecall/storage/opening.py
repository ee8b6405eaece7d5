"""Opening a store: a folder or a URL."""

from __future__ import annotations

import os
from pathlib import Path

from closecall.errors import StorageError
from closecall.storage.local import LocalStore
from closecall.storage.places import is_url, located
from closecall.storage.store import Store
from closecall.there import exists, is_dir


def open_store(place: str | os.PathLike[str], *, create: bool = False) -> Store:
    """Return the store of a folder, or of a prefix on object storage. Nothing is asked yet.

    Parameters
    ----------
    place
        A path, or ``s3://BUCKET/PREFIX``, ``az://``, ``abfs://``, ``gs://``. Credentials come
        from the environment, or wherever else the service's own tools look for them.
    create
        Make the folder where it is missing. A prefix needs no making, and a bucket is never made.

    Raises
    ------
    UsageError
        A URL of another kind, or one that holds a user, a key or a signature.
    ConfigurationError
        A package is missing, or the network is forbidden.
    StorageError
        There is no such folder, or it cannot be made.
    """
    if is_url(place):
        from closecall.storage.remote import open_remote

        return open_remote(located(place))
    root = Path(place)
    try:
        if create:
            root.mkdir(parents=True, exist_ok=True)
        if not is_dir(root):
            what = "is no folder" if exists(root) else "there is no such folder"
            raise StorageError(f"{root}: {what}")
    except OSError as error:
        raise StorageError(f"{root}: cannot be used: {error.strerror or error}") from error
    return LocalStore(root)
