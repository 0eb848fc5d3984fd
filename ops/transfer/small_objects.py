"""The short way for small objects: one signed PUT on a connection that is kept, without a client's machinery.

Per request that machinery costs several times what signing and sending do, which tells with thousands of small files.
Only the first try is made here. What does not succeed is left to the transfer manager, with its retries and errors.
"""

import http.client
import os
import ssl
import threading
from typing import Any
from urllib.parse import quote, urlsplit

from ops.transfer.checksums import crc32_text
from ops.transfer.tree import LocalFile, stamp_of

# Characters of a key that stay as they are in the path that is signed, beside letters and digits.
SAFE_IN_PATH = "/-_.~"
TIMEOUT_SECONDS = 60
# After so many refusals the short way is given up.
MOST_REFUSALS = 3


class SmallObjects:
    """Sends one small file per call, from any number of threads, each with a connection of its own.

    Address, credentials, signature and trusted certificates are those of `client`. Raises BotoCoreError where it has
    no credentials.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        # The address of the bucket as botocore finds it, for its region, its partition and this configuration.
        signed = client.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "x"})
        self._base = signed.partition("?")[0].removesuffix("x")
        self._refusals = 0
        self._threads = threading.local()
        self._open = _connections(client, self._base)
        self._opened: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        for connection in self._opened:
            connection.close()

    def send(self, file: LocalFile) -> bool:
        """Whether S3 has taken the file, as it was when it was found. Never raises for what the file or S3 do."""
        if self._open is None or self._refusals >= MOST_REFUSALS:
            return False
        try:
            with open(file.path, "rb", buffering=0) as opened:
                data = opened.read(file.length + 1)
                if len(data) != file.length or stamp_of(os.fstat(opened.fileno())) != file.stamp:
                    return False
            taken = self._put(file.key, data)
        except (OSError, http.client.HTTPException):
            self._threads.connection = None
            taken = False
        if not taken:
            self._refusals += 1
        return taken

    def _put(self, key: str, data: bytes) -> bool:
        from botocore.awsrequest import AWSRequest

        headers = {"x-amz-sdk-checksum-algorithm": "CRC32", "x-amz-checksum-crc32": crc32_text(data)}
        request = AWSRequest("PUT", self._base + quote(key, safe=SAFE_IN_PATH), headers=headers, data=data)
        request.context["client_config"] = self._client.meta.config
        region = self._client.meta.region_name
        self._client._request_signer.get_auth_instance("s3", region, "s3v4").add_auth(request)
        connection = self._connection()
        headers = {**request.headers, "Content-Type": "binary/octet-stream"}
        connection.request("PUT", urlsplit(str(request.url)).path, body=data, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200

    def _connection(self) -> http.client.HTTPConnection:
        connection = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self._open()
            self._opened.append(connection)
        return connection


def _connections(client: Any, base: str) -> Any:
    """Opens a connection to the bucket's address; None where a proxy or unchecked certificates ask for more."""
    from botocore.httpsession import get_cert_path
    from botocore.utils import get_environ_proxies

    verify = getattr(client._endpoint.http_session, "_verify", None)
    url = urlsplit(base)
    if (
        get_environ_proxies(base)
        or client.meta.config.proxies
        or client.meta.config.client_cert
        or not verify
    ):
        return None
    if url.scheme == "http":
        return lambda: http.client.HTTPConnection(url.netloc, timeout=TIMEOUT_SECONDS)
    context = ssl.create_default_context(cafile=get_cert_path(verify))
    return lambda: http.client.HTTPSConnection(url.netloc, timeout=TIMEOUT_SECONDS, context=context)
