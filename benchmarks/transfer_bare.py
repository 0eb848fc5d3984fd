"""What the local server takes at most: `python -m benchmarks.transfer_bare ADDRESS OBJECTS BYTES`.

Writes so many objects from one piece of memory, on bare sockets: no file is read, nothing is signed or checked.
"""

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from benchmarks.transfer_server import BUFFER_BYTES

CONNECTIONS = 4


def put(address: tuple[str, int], keys: range, length: int) -> None:
    """Writes one object for each key on one connection."""
    piece = memoryview(bytes(min(length, BUFFER_BYTES)))
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for key in keys:
            head = f"PUT /lake/{key} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n"
            connection.sendall(head.encode())
            for begin in range(0, length, len(piece)):
                connection.sendall(piece[: length - begin])
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                more = connection.recv(1024)
                assert more, "the server has hung up"
                answer += more


def main(address: str, objects: int, length: int) -> None:
    url = urlsplit(address)
    place = (str(url.hostname), int(url.port or 80))
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        shares = [range(first, objects, CONNECTIONS) for first in range(min(CONNECTIONS, objects))]
        for done in [pool.submit(put, place, share, length) for share in shares]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
