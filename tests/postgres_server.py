"""A PostgreSQL server for a while: started as an ordinary user in a folder of its own, without a port, and stopped."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

USERS = ("postgres", "nobody")
"""Who may run the server where tests run as root, whom it refuses."""


def binaries():
    """The newest server of Debian's folders, or that of the path; ``None``: there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else None if on_path is None else Path(on_path).parent


def ordinary_user():
    """What goes before a command, and the name of who runs it; ``None`` where root has nobody to run it as."""
    if os.geteuid() != 0:
        return [], pwd.getpwuid(os.geteuid()).pw_name
    known = {entry.pw_name for entry in pwd.getpwall()}
    user = next((name for name in USERS if name in known), None)
    return None if user is None or shutil.which("runuser") is None else (["runuser", "-u", user, "--"], user)


def missing():
    """Why there can be no server here; ``None``: there can."""
    try:
        import psycopg  # noqa: F401
    except ModuleNotFoundError:
        return "psycopg is not installed: pip install 'entrenous[postgresql]'"
    if binaries() is None:
        return "no PostgreSQL here: 'make postgresql' installs it"
    return "running as root, and there is no ordinary user to run PostgreSQL as" if ordinary_user() is None else None


@contextmanager
def postgres_server():
    """The address of a new server, with a place for the name of the database."""
    bin_folder, (before, user) = binaries(), ordinary_user()
    # Not the folder of the tests: the path of a socket must be short, and the user must be able to come there.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    shutil.chown(folder, user)

    def called(*words):
        subprocess.run([*before, *map(str, words)], check=True, stdout=subprocess.DEVNULL, cwd="/")

    data = folder / "data"
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=300"
    try:
        called(bin_folder / "initdb", "-D", data, "-U", "officer", "-A", "trust", "--no-sync")
        called(bin_folder / "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql://officer@/{{}}?host={folder}"
        finally:
            called(bin_folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server, name):
    """The address of a new database on it."""
    import psycopg

    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)
