//! A file that is opened for reading, and what redb would write to it, which stays in memory.
//!
//! redb writes to a file that it opens, verifies or closes: the mark that it is open, and the
//! state of its allocator. Here nothing is written, also not by a repair, so a file on a disk that
//! cannot be written is read as well. What is written is bounded by that state: 64 KiB for each
//! GiB of the file. Commits of rows are left out: no handle for them is given.

use core::ops::Bound;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// Bytes that are copied at once: those of a page
const BLOCK: usize = 4096;

/// The backend of a database that is not changed
#[derive(Debug)]
pub(crate) struct CopyOnWrite {
    file: FileBackend,
    written: Mutex<Written>,
}

/// The pages that differ from the file
#[derive(Debug)]
struct Written {
    len: u64,
    /// What is after it is not of the file: the smallest length so far
    file_len: u64,
    /// By number
    blocks: BTreeMap<u64, [u8; BLOCK]>,
}

impl CopyOnWrite {
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        let file = FileBackend::new(File::open(path)?)?;
        let len = file.len()?;
        let written = Mutex::new(Written { len, file_len: len, blocks: BTreeMap::new() });
        Ok(Self { file, written })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        // Poisoned by a panic of redb's, which ends this database.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_from(&self, written: &Written, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let in_file = written.file_len.saturating_sub(offset).min(out.len() as u64) as usize;
        let (of_file, after) = out.split_at_mut(in_file);
        if !of_file.is_empty() {
            self.file.read(offset, of_file)?;
        }
        after.fill(0);
        let end = offset.saturating_add(out.len() as u64);
        let blocks = offset / BLOCK as u64..end.div_ceil(BLOCK as u64);
        for (number, block) in written.blocks.range(blocks) {
            let start = number * BLOCK as u64;
            let from = start.max(offset);
            let until = end.min(start + BLOCK as u64);
            let source = block.get((from - start) as usize..(until - start) as usize);
            let target = out.get_mut((from - offset) as usize..(until - offset) as usize);
            if let (Some(source), Some(target)) = (source, target) {
                target.copy_from_slice(source);
            }
        }
        Ok(())
    }
}

impl StorageBackend for CopyOnWrite {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        match offset.checked_add(out.len() as u64) {
            Some(end) if end <= written.len => self.read_from(&written, offset, out),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        let first = len / BLOCK as u64;
        written.blocks.split_off(&len.div_ceil(BLOCK as u64));
        if let Some(last) = written.blocks.get_mut(&first)
            && let Some(after) = last.get_mut((len % BLOCK as u64) as usize..)
        {
            after.fill(0);
        }
        written.file_len = written.file_len.min(len);
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        let mut rest = data;
        let mut at = offset;
        while !rest.is_empty() {
            let (number, from) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let (part, further) = rest.split_at(rest.len().min(BLOCK - from));
            let mut block = [0; BLOCK];
            self.read_from(&written, number * BLOCK as u64, &mut block)?;
            if let Some(target) = block.get_mut(from..from + part.len()) {
                target.copy_from_slice(part);
            }
            written.blocks.insert(number, block);
            at += part.len() as u64;
            rest = further;
        }
        written.len = written.len.max(at);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    /// Shared: others may read the file as well, and none may change it
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Beside a vector of bytes, to which the same is done
    #[test]
    fn what_is_written_is_read_and_the_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file: Vec<u8> = (0..3 * BLOCK + 100).map(|at| at as u8 | 1).collect();
        fs::write(&path, &file).unwrap();
        let (backend, mut expected) = (CopyOnWrite::open(&path).unwrap(), file.clone());
        let is_same = |expected: &[u8]| {
            assert_eq!(backend.len().unwrap(), expected.len() as u64);
            for (from, until) in [(0, expected.len()), (7, 9), (BLOCK - 3, 2 * BLOCK + 5)] {
                let Some(expected) = expected.get(from..until) else { continue };
                let mut read = vec![7; expected.len()];
                backend.read(from as u64, &mut read).unwrap();
                assert!(read == expected, "from {from} until {until} of {}", expected.len());
            }
            assert!(backend.read(expected.len() as u64, &mut [0]).is_err());
        };
        is_same(&expected);
        for (at, length) in [(0, 320), (BLOCK - 1, 2), (BLOCK, BLOCK), (3 * BLOCK, 100)] {
            backend.write(at as u64, &vec![2; length]).unwrap();
            expected[at..at + length].fill(2);
            is_same(&expected);
        }
        for length in [5 * BLOCK + 1, 2 * BLOCK + 9, BLOCK + 9, 3 * BLOCK, 20, BLOCK] {
            backend.set_len(length as u64).unwrap();
            expected.resize(length, 0);
            is_same(&expected);
        }
        drop(backend);
        assert!(fs::read(&path).unwrap() == file);
    }
}
