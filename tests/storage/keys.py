"""Keys of the servers of these tests, which open nothing else; they may show up nowhere."""

KEY_ID = "AKIACLOSECALLTEST000"
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYxx"  # noqa: S105
AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""Published by Azurite for its one account."""
