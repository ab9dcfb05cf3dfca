//! A disk under a directory: what is certain to survive a power failure, and what may.
//!
//! Contents and lengths of a file are certain once the file was synced, entries of a directory once
//! the directory was. Until then each write may be there, missing, or torn between sectors,
//! whatever the order; changes of entries and lengths are there up to any one of them, because
//! file systems keep those in a journal. This is weaker than what ext4 and XFS promise.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use milepost_testkit::Rng;

use super::trace::Call;

/// What a disk writes as a whole, in bytes
const SECTOR: usize = 512;
const PAGE: usize = 4096;

/// What becomes of changes that were not synced
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unsynced {
    /// All are lost
    Lost,
    /// All but the last one are there, which is torn
    LastTorn,
    /// Each is there, lost or torn, as the random numbers say
    Random,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Node(usize);

/// A change of a file that was not synced
#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, data: Vec<u8> },
    Length(u64),
}

/// Bytes of a file; pages that are absent are zeros
#[derive(Clone, Debug, Default)]
struct Content {
    length: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
}

impl Content {
    fn write(&mut self, offset: u64, data: &[u8]) {
        let mut position = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let start = (position % PAGE as u64) as usize;
            let (part, after) = rest.split_at(rest.len().min(PAGE - start));
            let page = self.pages.entry(position / PAGE as u64);
            page.or_insert_with(|| Box::new([0; PAGE]))[start..start + part.len()]
                .copy_from_slice(part);
            position += part.len() as u64;
            rest = after;
        }
        if !data.is_empty() {
            self.length = self.length.max(position);
        }
    }

    fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.pages.split_off(&length.div_ceil(PAGE as u64));
            let end = (length % PAGE as u64) as usize;
            if end > 0
                && let Some(page) = self.pages.get_mut(&(length / PAGE as u64))
            {
                page[end..].fill(0);
            }
        }
        self.length = length;
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { offset, data } => self.write(*offset, data),
            Change::Length(length) => self.set_length(*length),
        }
    }
}

/// A file or a directory
#[derive(Clone, Debug, Default)]
struct Inode {
    is_directory: bool,
    /// What is certain
    content: Content,
    unsynced: Vec<Change>,
    /// As the process sees it
    length: u64,
    /// What is certain, by name
    entries: BTreeMap<String, Node>,
    /// `None` for a name that was removed
    unsynced_entries: Vec<(String, Option<Node>)>,
}

/// An open file, which several descriptors can share
#[derive(Clone, Copy, Debug)]
struct OpenFile {
    node: Node,
    position: u64,
    append: bool,
}

/// The files below a directory, as calls leave them
pub(crate) struct Disk {
    root: PathBuf,
    inodes: Vec<Inode>,
    open_files: Vec<OpenFile>,
    descriptors: HashMap<u64, usize>,
}

impl Disk {
    /// An empty directory, which survives
    pub(crate) fn new(root: &Path) -> Self {
        let root_inode = Inode { is_directory: true, ..Inode::default() };
        let (open_files, descriptors) = (Vec::new(), HashMap::new());
        Self { root: root.to_owned(), inodes: vec![root_inode], open_files, descriptors }
    }

    /// Applies a call; whether it changed the disk or what is certain of it
    ///
    /// Calls of files outside the directory change nothing.
    pub(crate) fn apply(&mut self, call: &Call) -> Result<bool, String> {
        match call {
            Call::Open { path, create, exclusive, truncate, append, fd } => {
                return self.open(path, (*create, *exclusive, *truncate), *append, *fd);
            }
            Call::Duplicate { fd, of } => {
                match self.descriptors.get(of).copied() {
                    Some(open) => self.descriptors.insert(*fd, open),
                    None => self.descriptors.remove(fd),
                };
                return Ok(false);
            }
            Call::Close { fd } => {
                self.descriptors.remove(fd);
                return Ok(false);
            }
            Call::Read { fd, length } => {
                if let Some(open) = self.open_file(*fd) {
                    open.position += length;
                }
                return Ok(false);
            }
            Call::Seek { fd, position } => {
                if let Some(open) = self.open_file(*fd) {
                    open.position = *position;
                }
                return Ok(false);
            }
            Call::Write { fd, data } => {
                let Some(open) = self.open_file(*fd).copied() else { return Ok(false) };
                let end = self.inodes[open.node.0].length;
                let offset = if open.append { end } else { open.position };
                if let Some(open) = self.open_file(*fd) {
                    open.position = offset + data.len() as u64;
                }
                self.write(open.node, offset, data);
            }
            Call::WriteAt { fd, offset, data } => {
                let Some(open) = self.open_file(*fd).copied() else { return Ok(false) };
                self.write(open.node, *offset, data);
            }
            Call::SetLength { fd, length } => {
                let Some(open) = self.open_file(*fd).copied() else { return Ok(false) };
                self.set_length(open.node, *length);
            }
            Call::Allocate { fd, length } => {
                let Some(open) = self.open_file(*fd).copied() else { return Ok(false) };
                let length = self.inodes[open.node.0].length.max(*length);
                self.set_length(open.node, length);
            }
            Call::Sync { fd } => {
                let Some(open) = self.open_file(*fd).copied() else { return Ok(false) };
                self.inodes[open.node.0].sync();
            }
            Call::Rename { from, to } => {
                let Some((from, from_name)) = self.parent(from)? else { return Ok(false) };
                let (to, to_name) = self.parent(to)?.ok_or("renamed out of the directory")?;
                let node = self.entry(from, &from_name).ok_or("no such file is renamed")?;
                if from != to {
                    return Err("a rename to another directory is not modelled".to_owned());
                }
                // One change of the journal: both names change, or neither.
                self.change_entries(from, &[(to_name, Some(node)), (from_name, None)]);
            }
            Call::Link { from, to } => {
                let Some((from, from_name)) = self.parent(from)? else { return Ok(false) };
                let (to, to_name) = self.parent(to)?.ok_or("linked out of the directory")?;
                let node = self.entry(from, &from_name).ok_or("no such file is linked")?;
                self.change_entries(to, &[(to_name, Some(node))]);
            }
            Call::Remove { path } => {
                let Some((parent, name)) = self.parent(path)? else { return Ok(false) };
                self.change_entries(parent, &[(name, None)]);
            }
            Call::CreateDirectory { path } => {
                let Some((parent, name)) = self.parent(path)? else { return Ok(false) };
                self.create(parent, name, true);
            }
        }
        Ok(true)
    }

    fn open(
        &mut self,
        path: &str,
        (create, exclusive, truncate): (bool, bool, bool),
        append: bool,
        fd: u64,
    ) -> Result<bool, String> {
        self.descriptors.remove(&fd);
        let (node, is_new) = if Path::new(path) == self.root {
            (Node(0), false)
        } else {
            let Some((parent, name)) = self.parent(path)? else { return Ok(false) };
            match self.entry(parent, &name) {
                Some(node) if !exclusive => (node, false),
                None if create => (self.create(parent, name, false), true),
                _ => return Err(format!("{path} was opened in spite of its state")),
            }
        };
        let is_cut = truncate && self.inodes[node.0].length > 0;
        if is_cut {
            self.set_length(node, 0);
        }
        self.open_files.push(OpenFile { node, position: 0, append });
        self.descriptors.insert(fd, self.open_files.len() - 1);
        Ok(is_new || is_cut)
    }

    fn open_file(&mut self, fd: u64) -> Option<&mut OpenFile> {
        self.open_files.get_mut(*self.descriptors.get(&fd)?)
    }

    fn write(&mut self, node: Node, offset: u64, data: &[u8]) {
        let inode = &mut self.inodes[node.0];
        inode.length = inode.length.max(offset + data.len() as u64);
        inode.unsynced.push(Change::Write { offset, data: data.to_vec() });
    }

    fn set_length(&mut self, node: Node, length: u64) {
        let inode = &mut self.inodes[node.0];
        inode.length = length;
        inode.unsynced.push(Change::Length(length));
    }

    fn create(&mut self, parent: Node, name: String, is_directory: bool) -> Node {
        let node = Node(self.inodes.len());
        self.inodes.push(Inode { is_directory, ..Inode::default() });
        self.change_entries(parent, &[(name, Some(node))]);
        node
    }

    fn change_entries(&mut self, directory: Node, changes: &[(String, Option<Node>)]) {
        self.inodes[directory.0].unsynced_entries.extend_from_slice(changes);
    }

    /// The directory of a path and its last name; `None` for a path elsewhere
    fn parent(&self, path: &str) -> Result<Option<(Node, String)>, String> {
        let Ok(relative) = Path::new(path).strip_prefix(&self.root) else { return Ok(None) };
        let mut names: Vec<String> =
            relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let name = names.pop().ok_or_else(|| format!("{path} has no name"))?;
        let mut node = Node(0);
        for directory in &names {
            node = self.entry(node, directory).ok_or_else(|| format!("no directory of {path}"))?;
        }
        Ok(Some((node, name)))
    }

    /// What a name of a directory is, as the process sees it
    fn entry(&self, directory: Node, name: &str) -> Option<Node> {
        let inode = &self.inodes[directory.0];
        let changed = inode.unsynced_entries.iter().rev().find(|(other, _)| other == name);
        changed.map_or_else(|| inode.entries.get(name).copied(), |(_, node)| *node)
    }

    /// Writes what the disk may have after a power failure now into an empty directory
    pub(crate) fn write_image(
        &self,
        to: &Path,
        unsynced: Unsynced,
        rng: &mut Rng,
    ) -> io::Result<()> {
        self.write_directory(Node(0), to, unsynced, rng)
    }

    fn write_directory(
        &self,
        node: Node,
        to: &Path,
        unsynced: Unsynced,
        rng: &mut Rng,
    ) -> io::Result<()> {
        let inode = &self.inodes[node.0];
        let changes = &inode.unsynced_entries;
        let survive = match unsynced {
            Unsynced::Lost => 0,
            Unsynced::LastTorn => changes.len(),
            Unsynced::Random => rng.index(changes.len() + 1),
        };
        let mut entries = inode.entries.clone();
        for (name, node) in &changes[..survive] {
            match node {
                Some(node) => entries.insert(name.clone(), *node),
                None => entries.remove(name),
            };
        }
        for (name, node) in entries {
            let path = to.join(name);
            if self.inodes[node.0].is_directory {
                fs::create_dir(&path)?;
                self.write_directory(node, &path, unsynced, rng)?;
            } else {
                write_file(&self.inodes[node.0].after_failure(unsynced, rng), &path)?;
            }
        }
        Ok(())
    }
}

impl Inode {
    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            self.content.apply(&change);
        }
        for (name, node) in self.unsynced_entries.drain(..) {
            match node {
                Some(node) => self.entries.insert(name, node),
                None => self.entries.remove(&name),
            };
        }
    }

    fn after_failure(&self, unsynced: Unsynced, rng: &mut Rng) -> Content {
        let mut content = self.content.clone();
        // Lengths are those up to one change; that a write makes a file longer counts as its own.
        let lengths = rng.index(self.unsynced.len() + 1);
        for (index, change) in self.unsynced.iter().enumerate() {
            let is_last = index + 1 == self.unsynced.len();
            let survival = match unsynced {
                Unsynced::Lost => Survival::Lost,
                Unsynced::LastTorn if is_last => Survival::Torn,
                Unsynced::LastTorn => Survival::Whole,
                Unsynced::Random => {
                    *rng.pick(&[Survival::Whole, Survival::Whole, Survival::Lost, Survival::Torn])
                }
            };
            match (change, survival) {
                (Change::Length(_), _) if unsynced == Unsynced::Random => {
                    if index < lengths {
                        content.apply(change);
                    }
                }
                (_, Survival::Lost) => {}
                (Change::Write { offset, data }, Survival::Torn) => {
                    write_torn(&mut content, *offset, data, rng);
                }
                _ => content.apply(change),
            }
        }
        content
    }
}

/// What becomes of one change
#[derive(Clone, Copy)]
enum Survival {
    Whole,
    Lost,
    Torn,
}

/// Writes some of the sectors of a write
fn write_torn(content: &mut Content, offset: u64, data: &[u8], rng: &mut Rng) {
    let mut position = 0;
    // A prefix, or any sectors.
    let prefix = rng.one_in(2).then(|| rng.index(data.len() + 1));
    while position < data.len() {
        let in_sector = (offset as usize + position) % SECTOR;
        let end = data.len().min(position + SECTOR - in_sector);
        if prefix.map_or_else(|| rng.one_in(2), |prefix| end <= prefix) {
            content.write(offset + position as u64, &data[position..end]);
        }
        position = end;
    }
}

fn write_file(content: &Content, path: &Path) -> io::Result<()> {
    let file = File::create_new(path)?;
    for (page, bytes) in &content.pages {
        file.write_all_at(&**bytes, page * PAGE as u64)?;
    }
    file.set_len(content.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Vec<Call> {
        let open = |path: &str, fd| Call::Open {
            path: path.into(),
            create: true,
            exclusive: false,
            truncate: false,
            append: false,
            fd,
        };
        vec![
            open("/disk/a.new", 3),
            Call::Write { fd: 3, data: vec![1; 1024] },
            Call::Sync { fd: 3 },
            Call::Rename { from: "/disk/a.new".into(), to: "/disk/a".into() },
            Call::Open {
                path: "/disk".into(),
                create: false,
                exclusive: false,
                truncate: false,
                append: false,
                fd: 4,
            },
            Call::Sync { fd: 4 },
            Call::WriteAt { fd: 3, offset: 512, data: vec![2; 1024] },
        ]
    }

    fn images(count: usize, unsynced: Unsynced) -> Vec<Vec<(String, Vec<u8>)>> {
        let mut disk = Disk::new(Path::new("/disk"));
        for call in calls().iter().take(count) {
            disk.apply(call).unwrap();
        }
        let mut images: Vec<_> = (0..60)
            .map(|seed| {
                let directory = tempfile::tempdir().unwrap();
                disk.write_image(directory.path(), unsynced, &mut Rng::new(seed)).unwrap();
                let mut files: Vec<_> = fs::read_dir(directory.path())
                    .unwrap()
                    .map(|entry| entry.unwrap())
                    .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
                    .map(|(name, path)| (name, fs::read(path).unwrap()))
                    .collect();
                files.sort();
                files
            })
            .collect();
        images.sort();
        images.dedup();
        images
    }

    #[test]
    fn an_entry_is_certain_when_its_directory_is_synced() {
        assert_eq!(images(3, Unsynced::Lost), [vec![]]);
        let old = vec![("a.new".to_owned(), vec![1; 1024])];
        assert_eq!(images(3, Unsynced::Random), [vec![], old]);
        assert_eq!(images(6, Unsynced::Lost), [vec![("a".to_owned(), vec![1; 1024])]]);
        assert_eq!(images(6, Unsynced::Random).len(), 1);
    }

    #[test]
    fn a_write_that_is_not_synced_may_be_lost_or_torn() {
        let image = |second, third: Option<u8>| {
            let mut bytes = [[1_u8; 512], [second; 512]].concat();
            bytes.extend(third.map(|byte| [byte; 512]).into_iter().flatten());
            vec![("a".to_owned(), bytes)]
        };
        assert_eq!(images(7, Unsynced::Lost), [image(1, None)]);
        let random = images(7, Unsynced::Random);
        let possible = [image(1, None), image(1, Some(2)), image(2, None), image(2, Some(2))];
        assert!(random.iter().all(|image| possible.contains(image)));
        assert_eq!(random.len(), possible.len());
    }
}
