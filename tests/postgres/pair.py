"""A PostgreSQL and its standby, which takes over when the first one is killed."""

import copy
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from start import PASSWORD, Server, free_port

SETTINGS = {"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}


class Pair:
    def __init__(self, kind, folder, is_synchronous):
        settings = dict(SETTINGS)
        if is_synchronous:
            # A commit waits until the standby has it on its disk.
            settings["synchronous_standby_names"] = "*"
        # Processes that were stopped do not see that their server is gone.
        self.held = []
        (folder / "one").mkdir()
        self.first = Server(kind, folder / "one", durable=False, settings=settings)
        self.second = copy.copy(self.first)
        self.second.folder = folder / "two"
        self.second.folder.mkdir()
        self.second.folder.chmod(0o755)
        if self.second.user:
            os.chown(self.second.folder, self.second.user.pw_uid, self.second.user.pw_gid)
        self.second.settings = self.first.settings | {
            "unix_socket_directories": str(self.second.folder)}
        self.second.port = free_port()
        self.follow()

    def url(self):
        hosts = ",".join(f"127.0.0.1:{port}" for port in sorted([self.first.port, self.second.port]))
        return f"postgres://postgres:{PASSWORD}@{hosts}/postgres"

    def follow(self):
        """Makes the second one a standby of the first."""
        shutil.rmtree(self.second.folder / "data", ignore_errors=True)
        self.second.run(
            self.first.programs / "pg_basebackup", "-R", "-c", "fast", "-D",
            self.second.folder / "data", "-d", self.first.url())
        self.second.start()

    def hold_back(self):
        """From now on the standby gets nothing more."""
        for process in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                words = (process / "cmdline").read_text()
                parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
                if "walsender" in words and int(parent) == self.first.process.pid:
                    os.kill(int(process.name), signal.SIGSTOP)
                    self.held.append(int(process.name))

    def fail_over(self):
        """Kills the first one; the second one takes its place."""
        self.first.kill()
        while self.held:
            with suppress(ProcessLookupError):
                os.kill(self.held.pop(), signal.SIGKILL)
        self.second.run(
            self.second.programs / "pg_ctl", "promote", "-w", "-D", self.second.folder / "data")
        self.first, self.second = self.second, self.first

    def stop(self):
        for server in (self.second, self.first):
            with suppress(ProcessLookupError):
                server.kill()
