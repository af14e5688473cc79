"""If an adapter breaks the contract or raises an exception, its trial fails with the location and the reason."""

from __future__ import annotations

import pytest

from tests.node.driver import MESSAGES, QUEUES, Measure, Outcome

SEND = """
    def send(self, payload_bytes, fill):
        frame = bytearray(64 + payload_bytes)
        {body}
    Publisher.send = send
"""
POLL = """
    def poll(self, timeout_s, take):
        {body}
    Subscriber.poll = poll
"""
WRONG = {
    "no poll": ("del Subscriber.poll", "subscriber of link hm_test_l0 has no method `poll`"),
    "no close": ("del Publisher.close", "publisher of link hm_test_l0 has no method `close`"),
    "no publisher": ("del Transport.publisher", "the adapter does not implement publisher"),
    "no answer": (SEND.format(body="fill(frame)"), "must return True (accepted) or False (busy), not None"),
    "no frame": (SEND.format(body="return True"), "returned True without calling fill"),
    "a short buffer": (
        SEND.format(body="fill(frame[:-1])"),
        "fill needs 164 bytes for the frame, but the buffer has 163",
    ),
    "a short header": (SEND.format(body="fill(frame[:9], frame[64:])"), "fill needs 64 bytes for the header"),
    "a read-only buffer": (SEND.format(body="fill(bytes(frame))"), "not writable"),
    "no buffer": (SEND.format(body="fill('text')"), "TypeError"),
    "two fills": (SEND.format(body="fill(frame); fill(frame)"), "fill may be called only once for a message"),
    "a wrong count": (
        POLL.format(body="take(self.line.get()); return 2"),
        "must return the number of frames that it delivered: 1, not 2",
    ),
    "no count": (
        POLL.format(body="take(self.line.get())"),
        "must return the number of frames that it delivered: 1, not None",
    ),
    "no bytes": (POLL.format(body="take(None)"), "bytes-like object is required"),
}


def failure_reason(outcome: Outcome) -> str:
    assert outcome.last["say"] == "failed", outcome.said
    assert outcome.code == 1
    return str(outcome.last["error"])


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_adapter_is_told(wrong: str, measure: Measure) -> None:
    changes, told = WRONG[wrong]
    assert told in failure_reason(measure(changes))


def test_an_exception_fails_the_trial_with_its_traceback(measure: Measure) -> None:
    error = failure_reason(measure(SEND.format(body="raise OSError('the cable is out')")))
    assert "(send) raised OSError: the cable is out" in error
    assert "adapter.py" in error


def test_a_foreseen_failure_carries_its_remedy_and_no_traceback(measure: Measure) -> None:
    outcome = measure("""
        from hopmeter.node.contract import AdapterError
        def publisher(self, link):
            raise AdapterError("port 5 is taken", "take another") from OSError("address in use")
        Transport.publisher = publisher
    """)
    error = failure_reason(outcome)
    assert error.endswith("port 5 is taken: address in use")
    assert outcome.last["remedy"] == "take another"
    assert "Traceback" not in error


ADDRESSES = """
    def publisher(self, link):
        raise OSError(f"listen on {self.setup.bind}, say {self.setup.advertised}")
    Transport.publisher = publisher
"""


def test_an_adapter_learns_where_to_listen_and_what_to_tell_others(measure: Measure) -> None:
    told = failure_reason(measure(ADDRESSES, bind="0.0.0.0", advertised="10.0.0.7"))
    assert "listen on 0.0.0.0, say 10.0.0.7" in told


def test_a_node_listens_on_the_loopback_device_if_nothing_else_is_said(measure: Measure) -> None:
    assert "listen on 127.0.0.1, say 127.0.0.1" in failure_reason(measure(ADDRESSES))


def test_an_address_that_is_none_is_refused(measure: Measure) -> None:
    outcome = measure(advertised="nowhere")
    assert outcome.code == 1
    assert "IPv4" in outcome.log


def test_a_kept_fill_is_refused_afterwards(measure: Measure) -> None:
    body = "kept = self.__dict__.setdefault('kept', fill); fill(frame) if kept else 0; self.line.put(frame)"
    body += "; self.calls = getattr(self, 'calls', 0) + 1; late(kept, frame) if self.calls > 3 else 0; return True"
    changes = (
        SEND.format(body=body)
        + """
    import threading
    def late(kept, frame):
        caught = []
        def use():
            try: kept(frame)
            except RuntimeError as refusal: caught.append(refusal)
        thread = threading.Thread(target=use); thread.start(); thread.join()
        raise caught[0]
    """
    )
    assert "fill may be called only during the call that received it" in failure_reason(measure(changes))


def test_a_kept_take_is_refused_afterwards(measure: Measure) -> None:
    changes = """
        kept = []
        def poll(self, timeout_s, take):
            kept.append(take)
            return 0
        def send(self, payload_bytes, fill):
            frame = bytearray(64 + payload_bytes)
            fill(frame)
            if kept: kept[0](frame)
            return True
        Subscriber.poll = poll
        Publisher.send = send
    """
    assert "take may be called only during the call of poll" in failure_reason(measure(changes))


def test_busy_is_counted_and_the_message_offered_again(measure: Measure) -> None:
    outcome = measure("""
        def send(self, payload_bytes, fill):
            frame = bytearray(64 + payload_bytes)
            fill(frame)
            self.offers = getattr(self, "offers", 0) + 1
            if self.offers % 3:
                return False
            self.line.put(frame)
            return True
        Publisher.send = send
    """)
    assert outcome.last["say"] == "done", outcome.last
    source, sink = outcome.last["endpoints"]
    assert (source["sent"], sink["received"]) == (MESSAGES, MESSAGES)
    assert source["busy"] >= 2 * MESSAGES


@pytest.mark.parametrize("source", ["import no_such_library", "raise ImportError('libold.so.3')"])
def test_a_missing_library_names_the_build_command(source: str, measure: Measure) -> None:
    outcome = measure(adapter=source)
    assert "adapter.py" in failure_reason(outcome)
    assert outcome.last["remedy"].startswith("run `hopmeter build example`")


def test_an_adapter_without_transport_is_told(measure: Measure) -> None:
    assert "has no class Transport" in failure_reason(
        measure(adapter=QUEUES.replace("class Transport", "class Transfer"))
    )
