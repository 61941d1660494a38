use super::is_readable;

#[test]
fn headers_that_the_library_reads_are_readable() {
    for block in [
        "NATS/1.0\r\n\r\n",
        "NATS/1.0\r\na: b\r\n\r\n",
        "NATS/1.0\r\n: no name\r\n\r\n",
        "NATS/1.0\r\na:\r\nb:c:d\r\n\r\n",
        "NATS/1.0 503\r\n\r\n",
        "NATS/1.0 100 Idle Heartbeat\r\na: b\r\n\r\n",
        "NATS/1.0\r\na: b\r\n  and more\r\nc: d\r\n\r\n",
        "NATS/1.0\r\na: \u{e9}\r\n\r\n",
    ] {
        assert!(is_readable(block.as_bytes()), "{block:?}");
    }
}

#[test]
fn headers_that_end_its_connection_are_not() {
    for block in [
        b"".as_slice(),
        b"NATS/9.9\r\na: b\r\n\r\n",
        b"NATS/1.0 none\r\n\r\n",
        b"NATS/1.0\r\nno colon\r\n\r\n",
        b"NATS/1.0\r\nx y: z\r\n\r\n",
        b"NATS/1.0\r\na: \xff\r\n\r\n",
    ] {
        assert!(!is_readable(block), "{:?}", String::from_utf8_lossy(block));
    }
}
