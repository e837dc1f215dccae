"""Downloads Debian sources and packages without installing them, using apt with separate lists, cache and status."""
import hashlib
import platform
import shutil
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"


class Unavailable(Exception):
    """Something is not available from Debian on this machine; the message gives the reason."""


def own_apt(folder, kind, suites, log, architecture=""):
    """Returns an apt command without its verb; it knows only the given suites and no installed package."""
    if not shutil.which("apt-get"):
        raise Unavailable("apt is not installed")
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
        raise Unavailable("Debian's archive does not respond")
    return apt


def archive(source, sha256, folder, log):
    """Returns the original archive of a source package with the given hash, or None."""
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
    """Unpacks packages of the host's Debian release for another architecture, with their dependencies, and returns the root."""
    root = folder / "root"
    if (folder / "complete").exists():
        return root
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    if release.get("ID") != "debian" or "VERSION_CODENAME" not in release:
        raise Unavailable("this system is not a Debian release")
    apt = own_apt(folder, "deb", [release["VERSION_CODENAME"]], log, architecture)
    done = subprocess.run([*apt, "--download-only", "install", *packages], stdout=log, stderr=log, check=False)
    if done.returncode != 0:
        raise Unavailable(f"Debian's archive does not provide {' and '.join(packages)} for {architecture}")
    for path in sorted((folder / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", path, root], stdout=log, stderr=log, check=True)
    (folder / "complete").touch()
    return root
