"""The protocol between PostgreSQL and its clients, as far as a proxy needs it that looks at statements and rows."""

import socket
import struct
import threading
from collections.abc import Callable

Message = tuple[bytes, bytes]
Row = list[bytes | None]
Ask = Callable[[list[Message]], list[Message]]


def receive(source: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length:
        part = source.recv(length - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts


def message(source: socket.socket) -> Message:
    kind = receive(source, 1)
    return kind, receive(source, struct.unpack("!I", receive(source, 4))[0] - 4)


def packed(messages: list[Message]) -> bytes:
    return b"".join(kind + struct.pack("!I", len(body) + 4) + body for kind, body in messages)


def values(body: bytes, at: int) -> tuple[Row, int]:
    """Values with their lengths, of a row or of parameters, and where they end."""
    (count,) = struct.unpack_from("!H", body, at)
    found: Row = []
    at += 2
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        found.append(None if length < 0 else body[at : at + length])
        at += max(length, 0)
    return found, at


def as_values(row: Row) -> bytes:
    parts = [struct.pack("!i", -1) if it is None else struct.pack("!I", len(it)) + it for it in row]
    return struct.pack("!H", len(row)) + b"".join(parts)


def statement(group: list[Message]) -> str:
    """The text of the statement that a group of messages runs."""
    for kind, body in group:
        if kind == b"P":
            return body.split(b"\0")[1].decode()
        if kind == b"Q":
            return body[:-1].decode()
    return ""


def parameters(body: bytes) -> tuple[int, Row, int]:
    """Where the parameters of a Bind message begin, what they are, and where they end."""
    at = body.index(b"\0", body.index(b"\0") + 1) + 1
    (formats,) = struct.unpack_from("!H", body, at)
    at += 2 + 2 * formats
    found, end = values(body, at)
    return at, found, end


class Listener:
    """A free port on loopback. Each connection to it is served by a thread of its own."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        raise NotImplementedError


class Proxy(Listener):
    """An address of a server. `answer` gets each group of messages that the server would reply to, and a function that passes one on to
    the server and returns the reply. It returns the bytes that the client gets."""

    def __init__(self, port: int, answer: Callable[[list[Message], Ask], bytes]):
        self.target, self.answer = port, answer
        self.open: set[socket.socket] = set()
        super().__init__()

    def lead_to(self, port: int) -> None:
        """New connections go there; those that there are end."""
        self.target = port
        for side in list(self.open):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.listener.close()
        self.lead_to(0)

    def _serve(self, client: socket.socket) -> None:
        server = None
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.open.add(side)
            self._log_in(client, server)
            self._talk(client, server)
        except (OSError, struct.error):
            pass
        finally:
            for side in (client, server):
                if side is not None:
                    self.open.discard(side)
                    side.close()

    def _log_in(self, client: socket.socket, server: socket.socket) -> None:
        length = receive(client, 4)
        server.sendall(length + receive(client, struct.unpack("!I", length)[0] - 4))
        kind = b""
        while kind != b"Z":
            kind, body = message(server)
            client.sendall(packed([(kind, body)]))
            # The server waits for a password in three of the requests of an authentication.
            if kind == b"R" and struct.unpack_from("!I", body)[0] in (3, 10, 11):
                server.sendall(packed([message(client)]))

    def _talk(self, client: socket.socket, server: socket.socket) -> None:
        def ask(group: list[Message]) -> list[Message]:
            server.sendall(packed(group))
            reply = [message(server)]
            while reply[-1][0] != b"Z":
                reply.append(message(server))
            return reply

        group: list[Message] = []
        while True:
            group.append(message(client))
            if group[-1][0] == b"X":
                return
            if group[-1][0] in (b"S", b"Q"):
                client.sendall(self.answer(group, ask))
                group = []
