"""The user's own models: what they are shown, what they give, and which are refused."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from dford.columns.encoders import Encoder
from drawing import file


def model(path: Path, shape: list[Any], nodes: list[Any], kind: int = TensorProto.FLOAT, **weights: Any) -> Path:
    """A file with a graph from `x`, and whatever else a test wants, to `y`."""
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    if any("z" in node.input for node in nodes):
        inputs.append(helper.make_tensor_value_info("z", kind, shape))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "graph", inputs, [output], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)
    return path


SAME = [helper.make_node("Identity", ["x"], ["y"])]
POOLED = [helper.make_node("GlobalAveragePool", ["x"], ["g"]), helper.make_node("Flatten", ["g"], ["y"])]
CLEAR = np.array([[1, 0, 0], [0, 1, 0]], np.uint8) * 255
NORMAL = (CLEAR / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])


@pytest.mark.parametrize(
    ("shape", "nodes"),
    [
        (["N", 3, "H", "W"], SAME),
        ([1, 3, 8, 16], SAME),
        ([1, 8, 16, 3], SAME),
        (["N", "H", "W", 3], SAME),
        ([1, 3, 8, 16], POOLED),
        ([1, 16, 16, 3], [helper.make_node("Reshape", ["x", "tokens"], ["y"])]),
    ],
)
def test_an_encoder_gives_the_mean_of_the_models_output_over_the_image(
    shape: list[Any], nodes: list[Any], tmp_path: Path
) -> None:
    """Here, the output is the normalised image."""
    path = model(tmp_path / "model.onnx", shape, nodes, tokens=np.array([1, -1, 3]))
    encoder = Encoder(path)
    assert encoder.width == 3
    assert encoder.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    for colour, expected in zip(CLEAR, NORMAL, strict=True):
        found = encoder.encode(file(Image.new("RGB", (300, 200), tuple(colour.tolist()))))
        assert found == pytest.approx(expected, abs=1e-4)
        assert found.dtype == np.float64


def test_an_encoder_is_shown_the_upright_middle_of_the_image_in_the_size_it_takes(tmp_path: Path) -> None:
    flat = [helper.make_node("Flatten", ["x"], ["y"])]
    encoder = Encoder(model(tmp_path / "model.onnx", [1, 3, 2, 2], flat))
    assert encoder.width == 12
    image = Image.new("RGB", (400, 100), "lime")
    image.paste("white", (150, 0, 250, 50))
    image.paste("black", (150, 50, 250, 100))
    red = encoder.encode(file(image))[:4]  # the red of the four corners, top first
    white, black = (1 - 0.485) / 0.229, -0.485 / 0.229
    assert red == pytest.approx([white, white, black, black], abs=0.4)
    exif = Image.Exif()
    exif[0x0112] = 3
    assert encoder.encode(file(image.rotate(180), exif=exif)) == pytest.approx(encoder.encode(file(image)))


def test_any_number_of_cores_gives_the_same_vector(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(64, 3, 7, 7)).astype(np.float32)
    conv = [helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2])]
    path = model(tmp_path / "model.onnx", ["N", 3, "H", "W"], conv, w=weights)
    shown = file(Image.effect_mandelbrot((96, 96), (-2, -1.5, 1, 1.5), 50))
    code = f"""
import os, sys
os.sched_setaffinity(0, {{cores}})
from dford.columns.encoders import Encoder
print(Encoder({str(path)!r}).encode(sys.stdin.buffer.read()).tobytes().hex())
"""
    cores = sorted(os.sched_getaffinity(0))
    for some in (cores, cores[:1]):
        run = [sys.executable, "-c", code.format(cores=set(some))]
        result = subprocess.run(run, input=shown, capture_output=True, check=True)
        assert result.stdout.decode().strip() == Encoder(path).encode(shown).tobytes().hex()


def test_an_unusable_encoder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(FileNotFoundError, match="there is no file .*model.onnx; an encoder must be an ONNX model"):
        Encoder(path)
    for junk in (b"", b"junk", file(Image.new("RGB", (9, 9)))):
        path.write_bytes(junk)
        with pytest.raises(ValueError, match=r"model.onnx is not an ONNX model in one file: [^\n]+$"):
            Encoder(path)
    expected = r"; expected one float32 input of the shape \(N, 3, height, width\) or \(N, height, width, 3\)$"
    two = [helper.make_node("Add", ["x", "z"], ["y"])]
    with pytest.raises(ValueError, match="has 2 inputs" + expected):
        Encoder(model(path, [1, 3, 8, 8], two))
    for shape in ([1, 3], [4, 3, 8, 8], [1, 1, 8, 8], ["N", "C", "H", "W"]):
        with pytest.raises(ValueError, match=r"takes tensor\(float\) of the shape .*" + expected):
            Encoder(model(path, shape, SAME))
    with pytest.raises(ValueError, match=r"takes tensor\(uint8\) of the shape \(1, 3, 8, 8\)" + expected):
        Encoder(model(path, [1, 3, 8, 8], [helper.make_node("Cast", ["x"], ["y"], to=1)], TensorProto.UINT8))
    with pytest.raises(ValueError, match=r"has an output of the shape \(4,\); expected numbers of the shape"):
        Encoder(
            model(
                path,
                [1, 3, 8, 8],
                [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=1)],
            )
        )
    with pytest.raises(ValueError, match="gives numbers that are not finite"):
        Encoder(model(path, [1, 3, 8, 8], [helper.make_node("Sqrt", ["x"], ["y"])]))
    with pytest.raises(ValueError, match="does not run on an image: "):
        Encoder(model(path, [1, 3, "H", "W"], [helper.make_node("Reshape", ["x", "s"], ["y"])], s=np.array([1, 7])))


def test_weights_in_another_file_are_refused_as_the_digest_would_not_cover_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(
        tmp_path / "model.onnx", [1, 3, 8, 8], [helper.make_node("Add", ["x", "w"], ["y"])], w=np.ones(1, np.float32)
    )
    onnx.save_model(onnx.load(path), path, save_as_external_data=True, location="weights", size_threshold=0)
    assert (tmp_path / "weights").exists()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is not an ONNX model in one file"):
        Encoder(path)


@pytest.mark.parametrize(
    ("module", "use"),
    [("onnxruntime", "encoders import Encoder; Encoder('model.onnx')"), ("PIL", "images import describe")],
)
def test_if_a_package_is_missing_the_error_says_how_to_get_it(module: str, use: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from dford.columns.{use}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1].endswith('pip install "dford[images]"')
