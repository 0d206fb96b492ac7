"""The way from a node to the database, over which nothing goes for a while, as in a network that is
partitioned: no connection ends, and what was sent arrives when the way is open again."""

import socket
import threading


class Proxy:
    def __init__(self, port):
        self.to = port
        self.is_open = threading.Event()
        self.is_open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            node, _ = self.listener.accept()
            threading.Thread(target=self.connect, args=(node,), daemon=True).start()

    def connect(self, node):
        self.is_open.wait()
        try:
            database = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            node.close()
            return
        for ends in ((node, database), (database, node)):
            threading.Thread(target=self.carry, args=ends, daemon=True).start()

    def carry(self, sender, receiver):
        try:
            while data := sender.recv(1 << 16):
                self.is_open.wait()
                receiver.sendall(data)
        except OSError:
            pass
        for end in (sender, receiver):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
