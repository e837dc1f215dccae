"""Sources and packages of Debian without installing them: by an apt that has lists, cache and status of its own."""
import hashlib
import platform
import shutil
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"


class Unavailable(Exception):
    """What is not to be had from Debian here, and why."""


def own_apt(folder, kind, suites, log, architecture=""):
    """A command of apt, less its verb, that knows the suites alone and nothing that is installed."""
    if not shutil.which("apt-get"):
        raise Unavailable("there is no apt")
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "list").write_text("".join(f"{kind} [signed-by={KEYS}] {MIRROR} {suite} main\n" for suite in suites))
    options = [f"Dir::Etc::SourceList={folder / 'list'}", "Dir::Etc::SourceParts=/dev/null",
               f"Dir::State::Lists={folder / 'lists'}", f"Dir::State::status={folder / 'status'}",
               f"Dir::Cache={folder / 'cache'}", "APT::Sandbox::User=root"]
    if architecture:
        options += [f"APT::Architecture={architecture}", f"APT::Architectures={architecture}"]
    apt = ["apt-get", "-q", "-y", "--no-install-recommends", *(word for option in options for word in ("-o", option))]
    if subprocess.run([*apt, "update"], stdout=log, stderr=log, check=False).returncode != 0:
        raise Unavailable("Debian's archive does not answer")
    return apt


def archive(source, sha256, folder, log):
    """The original archive of a source package that has the hash; None where none has."""
    def found():
        return next((path for path in folder.glob("*.orig.tar.*")
                     if hashlib.sha256(path.read_bytes()).hexdigest() == sha256), None)
    if not found():
        try:
            apt = own_apt(folder, "deb-src", ("bookworm", "trixie"), log)
        except Unavailable:
            return None
        subprocess.run([*apt, "--download-only", "source", source], cwd=folder, stdout=log, stderr=log, check=False)
    return found()


def unpacked(packages, architecture, folder, log):
    """A root with the packages of this release of Debian for another architecture, and with all that they need."""
    root = folder / "root"
    if (folder / "complete").exists():
        return root
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    if release.get("ID") != "debian" or "VERSION_CODENAME" not in release:
        raise Unavailable("this is no release of Debian")
    apt = own_apt(folder, "deb", [release["VERSION_CODENAME"]], log, architecture)
    done = subprocess.run([*apt, "--download-only", "install", *packages], stdout=log, stderr=log, check=False)
    if done.returncode != 0:
        raise Unavailable(f"Debian's archive does not give {' and '.join(packages)} for {architecture}")
    for path in sorted((folder / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", path, root], stdout=log, stderr=log, check=True)
    (folder / "complete").touch()
    return root
