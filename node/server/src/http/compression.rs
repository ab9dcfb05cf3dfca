//! Compresses long responses for clients that accept gzip.
//!
//! Long ones alone, since a short one fits into a few packets anyway. They are compressed on the
//! pool of blocking threads, by few at a time, so that no thread which serves sockets or reads rows
//! waits for one. A stream, whose length is not known, is sent as it is.

use core::num::NonZero;
use std::io::{self, Write};
use std::sync::LazyLock;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body as _, Buf as _, Bytes};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY};
use tokio::sync::Semaphore;
use tokio::task;

use super::response::HttpResponse;
use super::response_body::{Chunks, HttpBody};
use crate::request::{MemoryBudget, MemoryPermit};

/// Length from which on a body is compressed
const MIN_LENGTH: u64 = 64 << 10;
/// Responses that are compressed at a time: half of the processors are left to everything else
static RUNNING: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new(processors.div_ceil(2))
});

/// Whether a response may be compressed
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(is_zero_weight)
    })
}

/// Whether a parameter is a weight of zero, as in `gzip;q=0.0`
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, weight)| {
        name.eq_ignore_ascii_case("q") && weight.trim_matches(['0', '.']).is_empty()
    })
}

/// Adds a value to `Vary`, unless it is there
pub(super) fn add_vary(headers: &mut HeaderMap, value: &'static str) {
    if !headers.get_all(VARY).iter().any(|there| there == value) {
        headers.append(VARY, HeaderValue::from_static(value));
    }
}

/// Whether a response is to be compressed if the client accepts that, which `Vary` then says
pub(super) fn is_offered(response: &mut HttpResponse) -> bool {
    if response.body().size_hint().lower() < MIN_LENGTH {
        return false;
    }
    add_vary(response.headers_mut(), "accept-encoding");
    !response.headers().contains_key(CONTENT_ENCODING)
}

/// The response with a compressed body; as it is, if the budget has no memory for that
pub(super) async fn compressed(mut response: HttpResponse, memory: &MemoryBudget) -> HttpResponse {
    let (chunks, counted) = (response.body().chunks(), memory.begin());
    // The semaphore is never closed.
    let running = RUNNING.acquire().await;
    let compressing = task::spawn_blocking(move || {
        let _running = running;
        compress(chunks, counted)
    });
    // An error of memory, or a panic, which is logged.
    let Ok(Ok(CountedBuffer { bytes, counted })) = compressing.await else { return response };
    // Without spare capacity, which counts nothing.
    let bytes = Bytes::from(bytes.into_boxed_slice());
    *response.body_mut() = HttpBody::from(bytes).counted(counted);
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
}

fn compress(chunks: Chunks, counted: MemoryPermit) -> io::Result<CountedBuffer> {
    let buffer = CountedBuffer { bytes: Vec::new(), counted };
    // An eighth of the time of the default level, for 1.26 times its bytes.
    let mut encoder = GzEncoder::new(buffer, Compression::fast());
    io::copy(&mut chunks.reader(), &mut encoder)?;
    encoder.finish()
}

/// Bytes that count of the budget as they are written
struct CountedBuffer {
    bytes: Vec<u8>,
    counted: MemoryPermit,
}

impl Write for CountedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.counted.count(self.bytes.len() + bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use http_body_util::BodyExt as _;
    use hyper::Response;
    use milepost::endpoint::ResponseChunk;
    use tokio::sync::mpsc;

    use super::*;
    use crate::http::response::counted;

    fn vary(response: &HttpResponse) -> Vec<&str> {
        response.headers().get_all(VARY).iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// A response in chunks, as from memory, which counts, and its bytes
    fn long(memory: &MemoryBudget) -> (HttpResponse, Vec<u8>) {
        let row: Vec<u8> = (0..200_000_u32).map(|number| b'0' + (number % 7) as u8).collect();
        let text = [b"{\"result\":\"", &*row, b"\"", b"}"].concat();
        let chunks = [&b"{\"result\":\""[..], &row, b"\"", b"}"].map(ResponseChunk::from);
        (counted(memory, Response::new(HttpBody::from(chunks))).unwrap(), text)
    }

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        let accepts = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&headers)
        };
        for text in ["gzip", "br, GZIP;q=0.5", "deflate,gzip", "gzip;q=0.001", "gzip; q=1"] {
            assert!(accepts(text), "{text}");
        }
        for text in ["", "br", "gzip;q=0", "gzip; q=0.0", "gzip;Q=0.", "gzip ;q=0.000", "x-gzip"] {
            assert!(!accepts(text), "{text}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn only_a_long_body_of_known_length_is_offered() {
        let of_length = |length| Response::new(HttpBody::from(vec![b'x'; length]));
        let mut short = of_length(65_535);
        assert!(!is_offered(&mut short));
        assert_eq!(vary(&short), [""; 0]);
        let mut long = of_length(65_536);
        long.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
        assert!(is_offered(&mut long) && is_offered(&mut long));
        assert_eq!(vary(&long), ["origin", "accept-encoding"]);
        long.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(!is_offered(&mut long));
        let (_sender, rest) = mpsc::channel(1);
        let first = Bytes::from(vec![b'x'; 70_000]);
        let mut stream = Response::new(HttpBody::Upstream(first, rest));
        assert!(!is_offered(&mut stream));
        assert_eq!(vary(&stream), [""; 0]);
    }

    #[tokio::test]
    async fn a_compressed_body_counts_what_it_has_and_the_plain_one_nothing() {
        let memory = MemoryBudget::new(1 << 20);
        let (plain, text) = long(&memory);
        assert_eq!(memory.used(), 196 << 10);
        let response = compressed(plain, &memory).await;
        assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
        let frame = response.into_body().frame().await.unwrap().unwrap();
        let sent = frame.into_data().unwrap();
        assert!(sent.remaining() < 20_000, "{} bytes", sent.remaining());
        assert_eq!(memory.used(), sent.remaining().next_multiple_of(1 << 10));
        let mut plain = Vec::new();
        GzDecoder::new(sent.chunk()).read_to_end(&mut plain).unwrap();
        assert!(plain == text);
        drop(sent);
        assert_eq!(memory.used(), 0);
    }

    #[tokio::test]
    async fn without_memory_for_it_a_response_stays_as_it_is() {
        let memory = MemoryBudget::new(400 << 10).of_connection();
        let (plain, text) = long(&memory);
        let rest = memory.acquire(104 << 10).unwrap();
        let response = compressed(plain, &memory).await;
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert!(bytes == text);
        drop((bytes, rest));
        assert_eq!(memory.used(), 0);
    }
}
