"""A key and a certificate for 127.0.0.1 that nobody else trusts; they protect nothing."""

import ssl

KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZ3f6VWNK8e3mVfrG
XoLk2+Az56TEEcYO9jtw+OnSFoehRANCAASx7kOE8RqfNJRc7+7rDDyEOi8EBUf+
tIanNd6kpL3UtWU9mhbMPUMLGm9hV/wEMmMat6Flkpt+R8FMQOlj6YSt
-----END PRIVATE KEY-----
"""

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR6gAwIBAgIBATAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9jbG9zZWNh
bGwgdGVzdHMwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBoxGDAW
BgNVBAMMD2Nsb3NlY2FsbCB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BLHuQ4TxGp80lFzv7usMPIQ6LwQFR/60hqc13qSkvdS1ZT2aFsw9Qwsab2FX/AQy
Yxq3oWWSm35HwUxA6WPphK2jUzBRMA8GA1UdEQQIMAaHBH8AAAEwDwYDVR0TAQH/
BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAoQwHQYDVR0OBBYEFFatH4twBBpkDc8ZwUvL
q6bp6vUzMAoGCCqGSM49BAMCA0gAMEUCICXT2V2SVAOTFLlTPvJYVhxZU1DJ7U6k
qxQOAJIcA6TyAiEA9L4vfoTtkO7rpbqxuT0fM1jEQREIk+vf/DVDFQsiycw=
-----END CERTIFICATE-----
"""


def written(folder):
    """Write both and return the paths of certificate and key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(CERTIFICATE, encoding="ascii")
    key.write_text(KEY, encoding="ascii")
    return certificate, key


def serving(folder):
    """Return what a server shows, and the path of the certificate."""
    certificate, key = written(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate
