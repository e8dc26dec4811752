"""Access keys: who holds one is let in, and everything else is refused alike."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.http.requests import asked

from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.server.access import AccessKey, AccessKeys, Chain, KeyFile, KeyGate
from tailrace.server.access import keyfile as module
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.server.response import problem_response


@pytest.fixture
def made() -> tuple[str, AccessKey]:
    return AccessKey.fresh("worker", ["append:run:*"], tenant="acme")


def gate(*keys: AccessKey) -> Chain:
    known = AccessKeys(keys)
    return Chain(keys=KeyGate(lambda: known))


def test_who_holds_a_key_is_let_in_as_a_trusted_service(made: tuple[str, AccessKey]) -> None:
    text, key = made

    principal = gate(key).admit(asked(bearer=text))

    assert principal.may(Action.APPEND, "run:1")
    assert not principal.may(Action.READ, "run:1")
    assert (principal.tenant, principal.trusted, principal.expires_at) == ("acme", True, None)


WRONG: dict[str, Callable[[str], str]] = {
    "other secret": lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
    "other id": lambda text: "trk_" + "0" * 12 + text[16:],
    "other case": str.upper,
    "cut": lambda text: text[:-1],
    "longer": lambda text: text + "A",
    "only the id": lambda text: text[:16],
    "only the prefix": lambda text: "trk_",
    "nothing": lambda text: "",
    "two": lambda text: f"{text} {text}",
    "a new line": lambda text: text + "\n",
    "not ASCII": lambda text: text[:-1] + "é",
    "a JWT": lambda text: "eyJhbGciOiJub25lIn0.e30.",
    "huge": lambda text: text * 500,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_whatever_is_wrong_with_a_key_the_answer_is_the_same(
    made: tuple[str, AccessKey], wrong: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    text, key = made
    caplog.set_level(logging.DEBUG)

    with pytest.raises(Problem) as refused:
        gate(key).admit(asked(bearer=wrong(text)))
    with pytest.raises(Problem) as nothing:
        gate(key).admit(asked())

    assert problem_response(refused.value) == problem_response(nothing.value)
    assert problem_response(refused.value).status == 401
    assert text[17:] not in caplog.text


@pytest.mark.parametrize("header", [b"Basic YTpi", b"Bearer", b"bearer\t{}", b"{}", b"Token {}", b"Bearer: {}"])
def test_an_authorization_of_another_kind_is_refused(made: tuple[str, AccessKey], header: bytes) -> None:
    text, key = made

    with pytest.raises(Problem, match="valid credential"):
        gate(key).admit(asked(headers=((b"authorization", header.replace(b"{}", text.encode())),)))


def test_of_two_authorizations_none_counts(made: tuple[str, AccessKey]) -> None:
    text, key = made

    with pytest.raises(Problem, match="valid credential"):
        gate(key).admit(asked(headers=((b"authorization", b"Basic YTpi"),), bearer=text))


def test_an_expired_key_is_refused_and_one_that_will_expire_says_when() -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    good, good_key = AccessKey.fresh("a", ["read:*"], expires_at=soon)
    bad, bad_key = AccessKey.fresh("b", ["read:*"], expires_at=soon - timedelta(hours=2))
    both = gate(good_key, bad_key)

    assert both.admit(asked(bearer=good)).expires_at == soon.timestamp()
    with pytest.raises(Problem, match="valid credential"):
        both.admit(asked(bearer=bad))


def test_a_line_holds_everything_but_the_key(made: tuple[str, AccessKey]) -> None:
    text, key = made

    assert AccessKey.from_line(key.line) == key
    assert text[17:] not in key.line + repr(key)


@pytest.mark.parametrize(
    "line",
    [
        "0123456789ab",
        "0123456789ab xyz name - - read:*",
        "0123456789AB " + "0" * 64 + " name - - read:*",
        "0123456789ab " + "0" * 64 + " name - tomorrow read:*",
        "0123456789ab " + "0" * 64 + " name - - read",
        "0123456789ab " + "0" * 64 + " name - -",
    ],
)
def test_a_line_that_is_wrong_is_told_by_its_number(line: str) -> None:
    with pytest.raises(KeyRingError, match="line 2"):
        AccessKeys.parse(f"# heading\n{line}\n")


@pytest.mark.parametrize(("name", "tenant"), [("", ""), ("a b", ""), ("-", ""), ("a;b", ""), ("é", ""), ("a", "b c")])
def test_names_are_one_word(name: str, tenant: str) -> None:
    with pytest.raises(InvalidArgumentError, match="one word"):
        AccessKey.fresh(name, ["read:*"], tenant=tenant)


def test_a_key_needs_a_scope() -> None:
    with pytest.raises(InvalidArgumentError, match="scope"):
        AccessKey.fresh("name", [])


def test_two_keys_with_one_id_are_refused(made: tuple[str, AccessKey]) -> None:
    with pytest.raises(KeyRingError, match="two access keys"):
        AccessKeys([made[1], made[1]])


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock.monotonic)
    return clock


def put(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def test_a_revoked_key_is_refused_after_the_next_look_at_the_file(
    made: tuple[str, AccessKey], tmp_path: Path, clock: Clock
) -> None:
    text, key = made
    path = tmp_path / "keys"
    put(path, AccessKeys([key]).text)
    chain = Chain(keys=KeyGate(KeyFile(path)))

    assert chain.admit(asked(bearer=text))
    put(path, AccessKeys().text)
    clock.now += 2
    with pytest.raises(Problem, match="valid credential"):
        chain.admit(asked(bearer=text))


@pytest.mark.parametrize("damage", ["garbage", "gone", "open to others"])
def test_a_file_that_can_not_be_read_again_leaves_the_keys_as_they_were(
    made: tuple[str, AccessKey], tmp_path: Path, clock: Clock, damage: str
) -> None:
    text, key = made
    path = tmp_path / "keys"
    put(path, AccessKeys([key]).text)
    chain = Chain(keys=KeyGate(KeyFile(path)))

    if damage == "gone":
        path.unlink()
    else:
        put(path, "what is this?\n" if damage == "garbage" else AccessKeys().text + "\n")
        path.chmod(0o666 if damage == "open to others" else 0o600)
    clock.now += 2

    assert chain.admit(asked(bearer=text)).name == f"key:{key.id}:worker"


def test_a_file_that_others_may_change_is_refused_at_the_start(made: tuple[str, AccessKey], tmp_path: Path) -> None:
    path = tmp_path / "keys"
    put(path, AccessKeys([made[1]]).text)
    path.chmod(0o646)

    with pytest.raises(KeyRingError, match="mode 0646"):
        KeyFile(path)
