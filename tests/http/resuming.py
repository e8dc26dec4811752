"""The life of one stream that an application of somebody else's serves, whatever it is written in."""

import httpx
from tests.http.reader import Reader

import tailrace


def goes_on_after_what_was_seen(port: int, store: str) -> Reader:
    """Read ``/orders/1/events`` in two connections, to the end of its topic; return the second reader."""
    with tailrace.connect(store) as streams:
        topic = streams.topic("order:1")
        topic.append(b"a")
        with Reader(port, "/orders/1/events?start=beginning") as reader:
            assert reader.until_records(1) == [b"a"]
            topic.append(b"b\nc")
            assert reader.until_records(2) == [b"a", b"b\nc"]
        topic.append(b"\xff")
        with Reader(port, "/orders/1/events?start=beginning", reader.last_id) as reader:
            assert reader.until_records(1) == [b"\xff"]
            topic.seal()
            reader.to_end()
    assert [event.type for event in reader.events] == ["base64", "end"]
    events = f"http://127.0.0.1:{port}/orders/1/events"
    assert httpx.get(events, headers={"last-event-id": reader.last_id}).status_code == 204
    assert httpx.get(f"{events}?cursor=nonsense").status_code == 400
    return reader
