"""Messages as several producers would leave them in a queue, for property tests."""

from hypothesis import strategies as st

from services.executor.runtime.rocketmq.source_marks import SourceCoordinate, Stamper, mark_key

partitions = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=50)
numbers = st.integers(0, 2**62)
offsets = st.lists(numbers, min_size=1, max_size=3).map(tuple)
tails = st.sampled_from([b"", b"KEYS\x01k7\x02", b"KEYS\x01k14\x02", b"connect-ext-a\x01b|c\x02", b"RCPOSX\x01a|1|b|2|3\x02"])
heads = st.sampled_from([b"", b"", b"", b"TAGS\x01x\x02"])


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[bytes, SourceCoordinate | None]]:
    """Properties of messages as several producers would leave them in a queue, and what they say."""
    found: list[tuple[bytes, SourceCoordinate | None]] = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            found += [(tail, None) for tail in draw(st.lists(tails, max_size=3))]
        epoch, incarnation, partition = draw(st.integers(1, 3)), draw(st.integers(0, 1)), draw(st.sampled_from(["a", "b%d", "c/é"]))
        stamper = Stamper("uid", epoch, partition, incarnation)
        for offset in sorted(draw(st.lists(offsets, max_size=6))):
            (stamp,) = stamper.stamp([offset])
            place = SourceCoordinate(mark_key("uid", partition), epoch, incarnation, offset)
            found.append((draw(heads) + stamp + draw(tails), place))
    return found
