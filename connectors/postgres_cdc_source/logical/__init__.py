"""Logical decoding of PostgreSQL 14 and newer: what the connector stands on, without the connector.

Pure: messages (bytes to events), with rows, types, scalars and literals; runs and tuples, for many messages at once. At the edge,
with psycopg: connection, stream, slots, publications, catalog and requirements. continuity says whether a slot can go on where a
stored position ends.

    catalog = Catalog(connection)
    decoder = Decoder(catalog.resolve)
    with Stream(address, slot, publications, start) as stream:
        batch = stream.read(timeout=1.0)
        events = decoder.decode_frames(batch.frames)
        ...
        stream.confirm(lsn)

Values are in the text form of their types, although pgoutput has a binary one (`binary 'true'`): that would save a third of
decoding numbers and nothing on the server, and need code of ours for every type that there is, those of extensions too. The text
of any type can be read.
"""
