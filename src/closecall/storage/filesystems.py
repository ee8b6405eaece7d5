"""fsspec's file system of a URL, set up so that every decision about trying again is ours."""

from __future__ import annotations

import logging
from typing import Any

from closecall.errors import ConfigurationError, MissingExtraError
from closecall.storage.faults import HINTS
from closecall.storage.places import AZURE, GOOGLE, S3, Location

_LOGGERS = ("adlfs", "aiobotocore", "azure", "botocore", "fsspec", "gcsfs", "google", "s3fs")
_PACKAGES = {
    S3: ("fsspec", "s3fs"),
    **dict.fromkeys(AZURE, ("fsspec", "adlfs")),
    **dict.fromkeys(GOOGLE, ("fsspec", "gcsfs")),
}


def file_system(where: Location) -> tuple[Any, str]:
    """Return the file system and the path of a URL in it. No connection is opened.

    Raises
    ------
    MissingExtraError
        A package is missing.
    ConfigurationError
        The environment does not say enough to reach the service.
    """
    _keep_to_themselves()
    try:
        from fsspec.core import url_to_fs

        found, path = url_to_fs(where.url, **_options(where.scheme))
    except ImportError:
        packages = _PACKAGES.get(where.scheme, ("fsspec",))
        raise MissingExtraError(f"{where.scheme}://", "storage", packages) from None
    except Exception:  # noqa: BLE001 - adlfs puts what it was given into its message
        found = None
    if found is None:
        raise ConfigurationError(
            f"{where.url}: cannot be opened with what the environment says. "
            f"{HINTS.get(where.scheme, 'Look at its settings')}"
        )
    _leave_retries_to_us(found, where.scheme)
    return found, str(path)


def _keep_to_themselves() -> None:
    """Keep the packages' own warnings off a terminal on which nobody has asked for them."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _options(scheme: str) -> dict[str, Any]:
    # A listing that is remembered would hide what another machine wrote.
    options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if scheme == S3:
        options["config_kwargs"] = {"retries": {"total_max_attempts": 1}}
    return options


def _leave_retries_to_us(found: Any, scheme: str) -> None:
    """Turn off retries within retries, which would take minutes to fail."""
    if scheme == S3 or scheme in GOOGLE:
        found.retries = 1
    elif scheme in AZURE:
        config = getattr(getattr(found, "service_client", None), "_config", None)
        policy: Any = getattr(config, "retry_policy", None)
        if hasattr(policy, "total_retries"):
            policy.total_retries = 0
