//! Frames of HTTP/2 as bytes (RFC 9113), which no client library would send like this.
//!
//! Heads are written without a table of headers (RFC 7541, section 6.2.2).

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// Of a ping
pub(crate) const ACK: u8 = 1;

/// The setting of the window of each stream
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// A frame
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short").to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A frame with one setting
pub(crate) fn setting(name: u16, value: u32) -> Vec<u8> {
    let payload = [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &payload)
}

/// A frame that opens the window of a stream, or of the connection with 0
pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// The start of a connection
pub(crate) fn start(window: u32) -> Vec<u8> {
    [PREFACE, &setting(INITIAL_WINDOW_SIZE, window)].concat()
}

/// A header that enters no table
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 127);
        bytes.push(length.expect("a text is short"));
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// The head of a request
pub(crate) fn head(method: &str, path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "x")]
    {
        bytes.extend(header(name, value));
    }
    bytes
}
