"""onnxruntime as charlm imports it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    "called",
    [
        "from charlm.run.onnx_model import require_onnxruntime as f; f()",
        "from charlm.scoring.export.onnx_export import require_exporter as f; f('--onnx')",
    ],
)
def test_nothing_is_kept_in_home_for_telemetry(called: str, tmp_path: Path) -> None:
    environment = {name: os.environ[name] for name in os.environ if "ORT_" not in name}
    done = subprocess.run(
        [sys.executable, "-c", called],
        env={**environment, "HOME": str(tmp_path), "XDG_CACHE_HOME": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stderr, list(tmp_path.rglob("*onnxruntime*"))) == ("", [])
