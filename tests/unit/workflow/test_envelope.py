"""The envelope of a payload: strict in both directions, and byte for byte what the published client writes."""

import base64
import json
import pickle
import struct
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from durable_workflow import _avro as client
from durable_workflow import serializer
from fastavro.schema import fingerprint, to_parsing_canonical_form
from hypothesis import given
from hypothesis import strategies as st

from tailrace.workflow import avro
from tailrace.workflow.avro import EnvelopeError
from tailrace.workflow.envelope import CODEC, FINGERPRINT, decode, decode_blob, encode, encode_blob

HEADER = b"\xc3\x01" + FINGERPRINT

TABLE = {
    "wwHioz3/VYAiNwA=": None,
    "wwHioz3/VYAiNwIB": True,
    "wwHioz3/VYAiNwQO": 7,
    "wwHioz3/VYAiNwYAAAAAAAD4Pw==": 1.5,
    "wwHioz3/VYAiNwgEAP8=": b"\x00\xff",
    "wwHioz3/VYAiNwoEaGk=": "hi",
    "wwHioz3/VYAiNwwECgJhBAIA": ["a", 1],
    "wwHioz3/VYAiNw4CDnBlcmNlbnQEZAA=": {"percent": 50},
}

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.binary()
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=30,
)


def same(left: object, right: object) -> bool:
    """Equal in type and sign too: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    match left, right:
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case dict(), dict():
            return list(left) == list(right) and all(map(same, left.values(), right.values()))
        case float(), float():
            return struct.pack("d", left) == struct.pack("d", right)
        case _:
            return type(left) is type(right) and left == right


def blob_of(datum: bytes, header: bytes = HEADER) -> str:
    return base64.b64encode(header + datum).decode()


def nested(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def refused(blob: object) -> str:
    with pytest.raises(EnvelopeError) as error:
        decode_blob(blob)
    return error.value.reason


@pytest.mark.parametrize(("blob", "value"), [pytest.param(*row, id=repr(row[1])) for row in TABLE.items()])
def test_the_published_examples_hold_in_both_directions(blob: str, value: object) -> None:
    assert encode(value) == {"codec": "avro", "blob": blob}
    assert same(decode({"codec": "avro", "blob": blob}), value)


@given(VALUES)
def test_every_value_comes_back_as_it_went(value: object) -> None:
    assert same(decode(encode(value)), value)


@given(VALUES)
def test_the_published_client_writes_the_same_bytes_and_reads_ours(value: object) -> None:
    assert encode(value) == serializer.envelope(value, size_warning=None)
    assert same(client.decode(encode_blob(value)), value)


def test_the_fingerprint_is_that_of_the_published_schema() -> None:
    canonical = to_parsing_canonical_form(json.loads(client.VALUE_SCHEMA_JSON))

    assert fingerprint(canonical, "CRC-64-AVRO") == FINGERPRINT.hex()


@given(st.binary(max_size=60))
def test_whatever_the_bytes_are_they_are_a_value_or_refused(datum: bytes) -> None:
    try:
        value = avro.read(datum)
    except EnvelopeError:
        return
    assert same(avro.read(avro.write(value)), value)


@given(VALUES, st.data())
def test_a_value_that_is_cut_off_is_refused(value: object, data: st.DataObject) -> None:
    whole = avro.write(value)
    kept = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(EnvelopeError):
        avro.read(whole[:kept])


def test_the_ends_of_the_integers_are_in() -> None:
    for value in (-(2**63), 2**63 - 1):
        assert decode(encode(value)) == value


def test_enumerations_go_as_what_they_are_made_of() -> None:
    class Level(IntEnum):
        HIGH = 3

    class Colour(StrEnum):
        RED = "red"

    assert encode([Level.HIGH, Colour.RED]) == encode([3, "red"])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2**63, "integer_overflow"),
        (-(2**63) - 1, "integer_overflow"),
        (float("nan"), "non_finite_float"),
        (float("-inf"), "non_finite_float"),
        ({1: "a"}, "invalid_map_key"),
        ((1, 2), "unsupported_value_type"),
        (bytearray(b"a"), "unsupported_value_type"),
        (object(), "unsupported_value_type"),
        ("\ud800", "unsupported_value_type"),
        ({"\udfff": 1}, "unsupported_value_type"),
    ],
)
def test_what_is_no_value_is_refused_also_inside_others(value: object, reason: str) -> None:
    for whole in (value, [value], {"a": [value]}):
        with pytest.raises(EnvelopeError) as error:
            encode(whole)
        assert error.value.reason == reason


def test_values_may_be_nested_as_deep_as_the_bound_and_not_deeper() -> None:
    deepest = nested(avro.MAX_DEPTH)

    assert decode(encode(deepest)) == deepest
    assert client.decode(encode_blob(deepest)) == deepest
    with pytest.raises(EnvelopeError) as error:
        encode([deepest])
    assert error.value.reason == "too_deep"
    assert refused(blob_of(b"\x0c\x02" + avro.write(deepest) + b"\x00")) == "too_deep"


def test_a_bomb_of_brackets_is_refused_and_ends_no_process() -> None:
    levels = 500_000

    assert refused(blob_of(b"\x0c\x02" * levels + b"\x00" * (levels + 1))) == "too_deep"


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(EnvelopeError) as error:
        encode(endless)
    assert error.value.reason == "too_deep"


@pytest.mark.parametrize(
    "datum",
    {
        "nothing": "",
        "bytes after the value": "0000",
        "a branch above the last": "10",
        "a branch below the first": "01",
        "a boolean of two": "0202",
        "an integer of eleven bytes": "04" + "ff" * 10 + "01",
        "an integer of seventy bits": "04" + "ff" * 9 + "7f",
        "a float that is not a number": "06000000000000f87f",
        "a float that is infinite": "06000000000000f07f",
        "bytes of negative length": "0801",
        "more bytes than there are": "0806aa",
        "text of the longest length": "0afeffffffffffffffff01",
        "text that is not UTF-8": "0a02ff",
        "text with a surrogate": "0a06eda080",
        "a key that is not UTF-8": "0e0202ff0000",
        "a key twice": "0e0402610402026104 0400".replace(" ", ""),
        "more items than there are bytes": "0cfeffffffffffffffff01",
        "a block of another length": "0c010604 0200".replace(" ", ""),
        "an array without an end": "0c020402",
    }.items(),
    ids=lambda case: case[0],
)
def test_what_is_no_datum_is_refused(datum: tuple[str, str]) -> None:
    assert refused(blob_of(bytes.fromhex(datum[1]))) == "invalid_payload_framing"


def test_blocks_that_say_how_long_they_are_are_read_as_avro_has_them() -> None:
    assert decode_blob(blob_of(bytes.fromhex("0c01040402020402 00".replace(" ", "")))) == [1, 1]
    assert decode_blob(blob_of(bytes.fromhex("0e0108026104020 0".replace(" ", "")))) == {"a": 1}


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (blob_of(b"\x00", b"\xc3\x01" + FINGERPRINT[::-1]), "unsupported_payload_schema"),
        (blob_of(b"\x00", b"\xc3\x02" + FINGERPRINT), "invalid_payload_framing"),
        (base64.b64encode(HEADER[:9]).decode(), "invalid_payload_framing"),
        ("", "invalid_payload_framing"),
        ('{"a": 1}', "invalid_payload_framing"),
        ("wwHioz3/VYAiNwA", "invalid_payload_framing"),
        ("wwHioz3/VYAiNwA=\n", "invalid_payload_framing"),
        ("wwHioz3/VYAi NwA=", "invalid_payload_framing"),
        ("wwHioz3_VYAiNwA=", "invalid_payload_framing"),
        # The last bits belong to no byte.
        ("wwHioz3/VYAiNwB=", "invalid_payload_framing"),
        ("wwHioz3/VYAiNwA=é", "invalid_payload_framing"),
        (b"wwHioz3/VYAiNwA=", "invalid_payload_framing"),
        (None, "invalid_payload_framing"),
    ],
)
def test_a_blob_is_canonical_base64_of_a_frame_of_the_one_schema(blob: object, reason: str) -> None:
    assert refused(blob) == reason


@pytest.mark.parametrize(
    "envelope",
    [None, [], "wwHioz3/VYAiNwA=", {}, {"codec": CODEC}, {"codec": CODEC, "blob": "wwHioz3/VYAiNwA=", "more": 1}],
)
def test_an_envelope_has_a_codec_and_a_blob_and_nothing_else(envelope: object) -> None:
    with pytest.raises(EnvelopeError) as error:
        decode(envelope)
    assert error.value.reason == "invalid_payload_framing"


@pytest.mark.parametrize("codec", ["json", "AVRO", "", None, 1])
def test_there_is_no_codec_but_one(codec: object) -> None:
    with pytest.raises(EnvelopeError) as error:
        decode({"codec": codec, "blob": "wwHioz3/VYAiNwA="})
    assert error.value.reason == "unsupported_payload_codec"


def test_the_reason_survives_the_way_to_another_process() -> None:
    error: EnvelopeError = pickle.loads(pickle.dumps(EnvelopeError("no", reason="too_deep")))

    assert (str(error), error.reason) == ("no", "too_deep")
