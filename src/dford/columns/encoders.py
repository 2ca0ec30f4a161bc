"""Images as the user's own model sees them: any ONNX model that turns an image into a vector."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats
from dford.columns.images import middle

_SIDE = 224  # pixels, if the model takes any number
# of red, green and blue in ImageNet, on which nearly all published models were trained
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_SPREAD = np.array([0.229, 0.224, 0.225], np.float32)


class Encoder:
    """An ONNX model in one file, whose first output for an image is its vector.

    The model has one float32 input, for one image or any number at a time: (N, 3, height, width) or (N, height, width,
    3). If it takes any height and width, they are 224. The largest central part of the image with the model's
    proportions is resized to fit. Pixels are scaled to 0 to 1, then normalised by the mean and standard deviation of
    ImageNet's images. An output with a vector for every place in the image, or for every token, is averaged over them.

    One thread does the work, so the result does not depend on the number of cores.

    Parameters
    ----------
    path : path of the .onnx file

    Attributes
    ----------
    width : int
        How many numbers a vector has.
    digest : str
        The SHA-256 of the file, in hexadecimal, which identifies the model.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        runtime = _runtime()
        self._path = Path(path)
        if not self._path.is_file():
            raise FileNotFoundError(f"there is no file {self._path}; an encoder must be an ONNX model in one file")
        model = self._path.read_bytes()
        self.digest = hashlib.sha256(model).hexdigest()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, not logged
        # weights in other files would not be in the digest; in this "folder" none can be found
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
        try:
            self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's own errors have no common type
            raise ValueError(f"{self._path} is not an ONNX model in one file: {_first_line(error)}") from None
        self._input, self._channels_last, self._size = self._read_input()
        self.width = len(self._run(np.zeros((*self._size, 3), np.uint8)))

    def encode(self, data: bytes) -> Floats:
        """The vector of an image, from the bytes of its file."""
        return self._run(middle(data, *self._size))

    def _read_input(self) -> tuple[str, bool, tuple[int, int]]:
        """Its name, whether channels come last, and the height and width of images."""
        inputs = self._session.get_inputs()
        expected = "expected one float32 input of the shape (N, 3, height, width) or (N, height, width, 3)"
        if len(inputs) != 1:
            raise ValueError(f"{self._path} has {len(inputs)} inputs; {expected}")
        kind, shape = inputs[0].type, inputs[0].shape
        fits = kind == "tensor(float)" and len(shape) == 4 and (shape[0] == 1 or not isinstance(shape[0], int))
        if not fits or 3 not in (shape[1], shape[3]):
            raise ValueError(f"{self._path} takes {kind} of the shape {tuple(shape)}; {expected}")
        channels_last = shape[1] != 3
        height, width = shape[1:3] if channels_last else shape[2:]
        return inputs[0].name, channels_last, (_side(height), _side(width))

    def _run(self, pixels: NDArray[np.uint8]) -> Floats:
        normal = (pixels / np.float32(255) - _MEAN) / _SPREAD
        batch = np.ascontiguousarray(normal if self._channels_last else normal.transpose(2, 0, 1))[None]
        try:
            output = self._session.run(None, {self._input: batch})[0]
        except Exception as error:
            raise ValueError(f"{self._path} does not run on an image: {_first_line(error)}") from None
        return self._vector(output)

    def _vector(self, output: Any) -> Floats:
        shape = np.shape(output)
        if len(shape) not in (2, 3, 4) or shape[0] != 1 or np.asarray(output).dtype.kind != "f":
            raise ValueError(
                f"{self._path} has an output of the shape {shape}; expected numbers of the shape (1, width), "
                "(1, tokens, width), or those of an image"
            )
        values: NDArray[np.float64] = np.asarray(output, np.float64)[0]
        if len(shape) == 4:
            values = values.mean(axis=(0, 1) if self._channels_last else (1, 2))
        elif len(shape) == 3:
            values = values.mean(axis=0)
        if not np.isfinite(values).all():
            raise ValueError(f"{self._path} gives numbers that are not finite for this image; use another model")
        return values


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError('an encoder needs ONNX Runtime: pip install "dford[images]"') from error
    return onnxruntime


def _side(side: Any) -> int:
    return side if isinstance(side, int) and side > 0 else _SIDE


def _first_line(error: Exception) -> str:
    """The message without the numbers and names that the runtime puts before it."""
    return str(error).strip().partition("\n")[0].rpartition(" : ")[2]
