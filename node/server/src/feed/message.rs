//! The text of one block message, and the files that it comes from.
//!
//! A message is a whole file, one item of a file with an array of messages, or the files of one
//! block of a lake, joined. An error of the engine counts in the message; here it is converted to
//! its place in the file, because that is what a person opens.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use milepost::codec::json;
use milepost::config::TrackedShards;
use milepost::{Error, ErrorKind};

use super::files::{BlockSource, SourceKind};
use super::lake;
use super::paths::{check_length, open, read, with_path};

/// The text of a block message
pub(super) struct Message {
    pub(super) text: Vec<u8>,
    /// In the order of the text
    pub(super) parts: Vec<FileRange>,
}

/// A part of a message that is a value in a file
pub(super) struct FileRange {
    pub(super) file: PathBuf,
    /// The path of the value in the message
    pub(super) path_in_message: String,
    /// The path of the value in the file
    pub(super) path_in_file: String,
    /// Where the value starts in the message
    pub(super) start: usize,
    pub(super) length: usize,
    /// Where the value starts in the file
    pub(super) start_in_file: usize,
}

impl Message {
    pub(super) fn read(source: &BlockSource, shards: TrackedShards) -> Result<Self, String> {
        match source.kind {
            SourceKind::Lake => lake::read_message(&source.path, shards),
            SourceKind::File => Ok(Self::of_file(&source.path, read(&source.path)?, None)),
            SourceKind::Item { index, start, length } => {
                let text = read_part(&source.path, start, length)?;
                // A file of this machine, whose length is an address.
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                Ok(Self::of_file(&source.path, text, Some((index, start))))
            }
        }
    }

    fn of_file(path: &Path, text: Vec<u8>, item: Option<(usize, usize)>) -> Self {
        let (path_in_file, start_in_file) = match item {
            Some((index, start)) => (format!("[{index}]"), start),
            None => (String::new(), 0),
        };
        let part = FileRange {
            file: path.to_owned(),
            path_in_message: String::new(),
            path_in_file,
            start: 0,
            length: text.len(),
            start_in_file,
        };
        Self { text, parts: vec![part] }
    }

    /// The text of an error in this message, with its place in the file; `source` is named if no
    /// part is at fault
    pub(super) fn describe(&self, error: &Error, source: &Path) -> String {
        // A part that is not JSON has the others read wrongly, so that it is looked for first.
        let broken = self.parts.iter().filter(|_| self.parts.len() > 1).find_map(|part| {
            let text = str::from_utf8(self.text.get(part.start..part.start + part.length)?).ok()?;
            let error = json::canonical(text, &mut String::new()).err()?;
            (error.kind() == ErrorKind::Syntax).then_some((part, error))
        });
        if let Some((part, error)) = broken {
            return with_path(&part.file, error);
        }
        let Some(part) = self.part_of(error) else { return with_path(source, error) };
        let path = error.path().strip_prefix(part.path_in_message.as_str());
        let path = path.unwrap_or_default().trim_start_matches('.');
        let in_file = Error::new(error.kind(), error.detail()).at(path).at(&part.path_in_file);
        let offset = error.offset().and_then(|offset| offset.checked_sub(part.start));
        match offset {
            Some(offset) => with_path(&part.file, in_file.with_offset(part.start_in_file + offset)),
            None => with_path(&part.file, in_file),
        }
    }

    fn part_of(&self, error: &Error) -> Option<&FileRange> {
        if let Some(offset) = error.offset() {
            return self.parts.iter().rfind(|part| part.start <= offset);
        }
        self.parts.iter().find(|part| {
            let rest = error.path().strip_prefix(part.path_in_message.as_str());
            rest.is_some_and(|rest| {
                part.path_in_message.is_empty() || matches!(rest.bytes().next(), None | Some(b'.'))
            })
        })
    }
}

fn read_part(path: &Path, start: u64, length: u64) -> Result<Vec<u8>, String> {
    check_length(path, length)?;
    let failed = |error| with_path(path, error);
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut text = Vec::new();
    file.take(length).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}
