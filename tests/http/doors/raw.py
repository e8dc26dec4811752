"""Requests as bytes, and the answers to them taken apart. Pure."""

import json

from tailrace.server.problems import KINDS

HOST = b"host: localhost\r\n"


def problems(answer: bytes) -> list[str]:
    """Return the name of each problem in what a server sent, which must be whole answers of the table."""
    found = []
    while answer:
        head, _, answer = answer.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        body, answer = answer[:length], answer[length:]
        status = int(lines[0].split()[1])
        if status >= 300:
            content = json.loads(body)
            assert content["status"] == status
            name = content["type"].rpartition(":")[2]
            assert KINDS[name].status == status
            found.append(name)
        else:
            found.append(str(status))
    return found


def get(path: bytes, *headers: bytes, version: bytes = b"1.1") -> bytes:
    lines = [b"GET " + path + b" HTTP/" + version, HOST.strip(), b"connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def post(path: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", HOST.strip(), b"connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
