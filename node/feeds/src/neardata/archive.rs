//! An archive of ten blocks: a gzip of a tar of messages.
//!
//! Reads as much as it may and no more, whatever sizes the archive claims. The names of its files
//! are not used: the follower reads heights from the messages.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use tar::Archive;

/// Maximum number of messages
const MAX_MESSAGES: usize = 10;
/// Maximum size of all messages: ten of the largest that are known have some 60 MB
const MAX_SIZE: u64 = 256 << 20;

/// The messages of an archive
pub(super) fn unpack(archive: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let failed = |error: std::io::Error| format!("archive: {error}");
    let mut archive = Archive::new(MultiGzDecoder::new(archive).take(MAX_SIZE));
    let mut messages = Vec::new();
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        if messages.len() == MAX_MESSAGES {
            return Err(format!("archive: more than {MAX_MESSAGES} messages"));
        }
        let (mut message, size) = (Vec::new(), entry.size());
        entry.read_to_end(&mut message).map_err(failed)?;
        if message.len() as u64 != size {
            return Err(format!("archive: a message of {} bytes, {size} stated", message.len()));
        }
        messages.push(message);
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    fn packed(messages: &[&[u8]]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for message in messages {
            let mut header = Header::new_gnu();
            header.set_size(message.len() as u64);
            builder.append_data(&mut header, "000000000007.json", *message).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn the_messages_come_out_as_they_went_in() {
        assert_eq!(unpack(&packed(&[b"{}", b"[1]"])).unwrap(), [&b"{}"[..], b"[1]"]);
        assert_eq!(unpack(&packed(&[])).unwrap(), [b""; 0]);
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        let whole = packed(&[&b"some text of a message".repeat(100)]);
        for length in [9, whole.len() / 2] {
            assert!(unpack(&whole[..length]).is_err(), "{length}");
        }
        assert!(unpack(b"<html>").is_err());
        assert!(unpack(&packed(&[&b"{}"[..]; 11])).unwrap_err().contains("more than 10"));
        // A file that is shorter than it says.
        let mut header = Header::new_gnu();
        header.set_size(1 << 40);
        header.set_cksum();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(header.as_bytes()).unwrap();
        encoder.write_all(&[b' '; 1 << 20]).unwrap();
        assert!(unpack(&encoder.finish().unwrap()).is_err());
    }
}
