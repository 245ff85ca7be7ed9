"""Generated stubs, made when a test needs them: protoc and gRPC's Python plugin, nothing of ours."""

import importlib
import pathlib
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("table", "parameter_server", "coordinator", "admin")


def generate(folder: pathlib.Path) -> None:
    subprocess.run(
        [
            "protoc",
            f"-I{ROOT}",
            f"--python_out={folder}",
            f"--grpc_python_out={folder}",
            "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin",
            *(f"proto/{name}.proto" for name in NAMES),
        ],
        check=True,
    )


def load() -> types.SimpleNamespace:
    """Modules by file name: table, parameter_server, ..., and with _grpc for the services."""
    with tempfile.TemporaryDirectory(prefix="syncline-stubs-") as folder:
        generate(pathlib.Path(folder))
        sys.path.insert(0, folder)
        try:
            modules = {name: importlib.import_module(f"proto.{name}_pb2") for name in NAMES}
            for name in NAMES[1:]:
                modules[f"{name}_grpc"] = importlib.import_module(f"proto.{name}_pb2_grpc")
        finally:
            sys.path.remove(folder)
    return types.SimpleNamespace(**modules)
