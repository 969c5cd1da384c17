"""Text fields of a serialised ``tf.train.Example``, read without TensorFlow.

The message is a map from names to lists of bytes, floats or integers, in the wire format of
protocol buffers: a sequence of (number, kind) tags, each followed by a value. Only what is
asked for is decoded; everything else is skipped by its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


class MalformedExampleError(ValueError):
    """Bytes that are no ``tf.train.Example``, or lack what is asked for."""


def text_features(content: bytes, names: Sequence[str]) -> dict[str, str]:
    """Return the named features, each the one text that it holds.

    Parameters
    ----------
    content : bytes
        The serialised message.
    names : sequence of str

    Raises
    ------
    MalformedExampleError
        If the bytes are cut off or of another format, or a feature is missing, or does not hold
        one UTF-8 text.
    """
    wanted = {name.encode(): name for name in names}
    found: dict[str, str] = {}
    for features in _messages(content, 1):
        for entry in _messages(features, 1):
            keys, values = list(_messages(entry, 1)), list(_messages(entry, 2))
            if len(keys) == 1 and keys[0] in wanted and values:
                name = wanted[keys[0]]
                found[name] = _one_text(values[-1], name)
    missing = [name for name in names if name not in found]
    if missing:
        raise MalformedExampleError(f"the example has no feature {missing[0]!r}")
    return found


def _one_text(feature: bytes, name: str) -> str:
    texts = [text for held in _messages(feature, 1) for text in _messages(held, 1)]
    if len(texts) != 1:
        raise MalformedExampleError(
            f"feature {name!r} holds {len(texts)} byte strings, must hold one"
        )
    try:
        return texts[0].decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedExampleError(f"feature {name!r} is no UTF-8 text") from None


def _messages(content: bytes, number: int) -> Iterator[bytes]:
    """The length-delimited fields of that number."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(content, at)
            continue
        if kind == _LENGTH:
            length, at = _varint(content, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise MalformedExampleError(f"is no tf.train.Example: field kind {kind} at byte {at}")
        if at + length > len(content):
            raise MalformedExampleError(f"is no tf.train.Example, or is cut off at byte {at}")
        if kind == _LENGTH and tag >> 3 == number:
            yield content[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where the next byte is."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise MalformedExampleError("is no tf.train.Example, or is cut off within a number")
