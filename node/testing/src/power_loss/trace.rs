//! The system calls of a process that change files, recorded by strace with all their data.
//!
//! Calls are in the order in which they took effect at the latest moment that is safe to assume: a
//! write where it begins, because its data may reach the disk from then on; everything else where
//! it has returned. A call that this does not know and that could change a file is an error, so no
//! change is missed. Calls that failed are left out.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A system call and what it did
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    Open {
        path: String,
        create: bool,
        exclusive: bool,
        truncate: bool,
        append: bool,
        fd: u64,
    },
    /// `fd` is a further name of `of`
    Duplicate {
        fd: u64,
        of: u64,
    },
    Close {
        fd: u64,
    },
    /// At the position of the file, which it moves
    Write {
        fd: u64,
        data: Vec<u8>,
    },
    WriteAt {
        fd: u64,
        offset: u64,
        data: Vec<u8>,
    },
    /// The position of a file is this many bytes further
    Read {
        fd: u64,
        length: u64,
    },
    Seek {
        fd: u64,
        position: u64,
    },
    SetLength {
        fd: u64,
        length: u64,
    },
    /// The file has at least this length
    Allocate {
        fd: u64,
        length: u64,
    },
    Sync {
        fd: u64,
    },
    Rename {
        from: String,
        to: String,
    },
    Link {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    CreateDirectory {
        path: String,
    },
}

/// The calls that are recorded; a `?` is before those that not every processor has
const TRACED: &str = "trace=?open,openat,?creat,close,dup,?dup2,dup3,fcntl,read,lseek,write,pwrite64,\
                      writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,\
                      sync_file_range,sync,syncfs,msync,mmap,?rename,?renameat,renameat2,?link,linkat,\
                      ?unlink,unlinkat,?mkdir,mkdirat,?rmdir,copy_file_range,sendfile,splice";

/// A command that runs another under strace, with these further arguments
pub(crate) fn strace(arguments: &[&str], program: &Path) -> Command {
    let mut command = Command::new("strace");
    // Calls that are not traced do not stop the process.
    command.args(["-f", "-qq", "--seccomp-bpf", "-e", "signal=none"]).args(arguments).arg(program);
    command
}

/// Runs the process under test in this directory and returns its calls
pub(crate) fn record(program: &Path, directory: &Path, log: &Path) -> Result<Vec<Call>, String> {
    let log_name = log.to_str().ok_or("the path of the log is not UTF-8")?;
    // No string is cut: the longest write of redb is a region of some megabytes.
    let arguments = ["-xx", "-s", "1000000000", "-e", TRACED, "-o", log_name];
    let status = strace(&arguments, program)
        .arg("--fill")
        .arg(directory)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("strace: {error}"))?;
    if !status.success() {
        return Err(format!("the process ended with {status}"));
    }
    let text = fs::read_to_string(log).map_err(|error| error.to_string())?;
    parse(&text)
}

/// The calls in the output of strace
pub(crate) fn parse(text: &str) -> Result<Vec<Call>, String> {
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let failed = |error: String| {
            let start: String = line.chars().take(200).collect();
            format!("{error}: {start}")
        };
        let (process, rest) =
            line.split_once(' ').ok_or_else(|| failed("no process".to_owned()))?;
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, begin);
            // Its data may be on the disk before it returns.
            calls.extend(begin_of_write(begin).map_err(failed)?);
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, end) =
                resumed.split_once(" resumed>").ok_or_else(|| failed("no end".into()))?;
            let begin = unfinished.remove(process).ok_or_else(|| failed("no begin".into()))?;
            let is_write = begin_of_write(begin).map_err(failed)?.is_some();
            let call = finished(&format!("{begin}{end}")).map_err(failed)?;
            calls.extend(call.filter(|_| !is_write));
        } else {
            calls.extend(finished(rest).map_err(failed)?);
        }
    }
    Ok(calls)
}

/// The write that this is the beginning of
fn begin_of_write(text: &str) -> Result<Option<Call>, String> {
    let (name, arguments) = text.split_once('(').ok_or("no arguments")?;
    if !matches!(name, "write" | "pwrite64") {
        return Ok(None);
    }
    let arguments: Vec<&str> = arguments.trim_end_matches(',').split(", ").collect();
    write(name, &arguments).map(Some)
}

/// A call with its result; `None` if it failed or changes no file
fn finished(text: &str) -> Result<Option<Call>, String> {
    let (call, result) = text.rsplit_once(" = ").ok_or("no result")?;
    let (name, arguments) = call.split_once('(').ok_or("no arguments")?;
    let arguments = arguments.trim_end().strip_suffix(')').ok_or("no end of the arguments")?;
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let number = result.split(' ').next().unwrap_or_default();
    if number.starts_with('-') || number == "?" {
        return Ok(None);
    }
    let result = integer(number)?;
    let argument = |index: usize| arguments.get(index).copied().ok_or("too few arguments");
    let fd = || integer(argument(0)?);
    // Of a call with a directory before the path.
    let path_at = |index: usize| match argument(index)? {
        "AT_FDCWD" => path(argument(index + 1)?),
        other => Err(format!("a path relative to {other}")),
    };
    let call = match name {
        "openat" => open(&path_at(0)?, argument(2)?, result),
        "open" => open(&path(argument(0)?)?, argument(1)?, result),
        "close" => Call::Close { fd: fd()? },
        "dup" | "dup2" | "dup3" => Call::Duplicate { fd: result, of: fd()? },
        "fcntl" if argument(1)?.starts_with("F_DUPFD") => Call::Duplicate { fd: result, of: fd()? },
        "fcntl" => return Ok(None),
        "read" => Call::Read { fd: fd()?, length: result },
        "lseek" => Call::Seek { fd: fd()?, position: result },
        "write" | "pwrite64" => {
            let call = write(name, &arguments)?;
            let (Call::Write { data, .. } | Call::WriteAt { data, .. }) = &call else {
                return Err("no write".to_owned());
            };
            // A part of the data was refused, which is not modelled.
            if data.len() as u64 != result {
                return Err(format!("{result} of {} bytes were written", data.len()));
            }
            call
        }
        "ftruncate" => Call::SetLength { fd: fd()?, length: integer(argument(1)?)? },
        "fallocate" if argument(1)? == "0" => {
            let end = integer(argument(2)?)?.saturating_add(integer(argument(3)?)?);
            Call::Allocate { fd: fd()?, length: end }
        }
        "fsync" | "fdatasync" => Call::Sync { fd: fd()? },
        "rename" => Call::Rename { from: path(argument(0)?)?, to: path(argument(1)?)? },
        "renameat" | "renameat2" => Call::Rename { from: path_at(0)?, to: path_at(2)? },
        "link" => Call::Link { from: path(argument(0)?)?, to: path(argument(1)?)? },
        "linkat" => Call::Link { from: path_at(0)?, to: path_at(2)? },
        "unlink" | "rmdir" => Call::Remove { path: path(argument(0)?)? },
        "unlinkat" => Call::Remove { path: path_at(0)? },
        "mkdir" => Call::CreateDirectory { path: path(argument(0)?)? },
        "mkdirat" => Call::CreateDirectory { path: path_at(0)? },
        // Libraries and memory; only a shared mapping that can be written changes a file.
        "mmap" if !(argument(2)?.contains("PROT_WRITE") && argument(3)?.contains("MAP_SHARED")) => {
            return Ok(None);
        }
        // No sync is believed that covers only a range.
        "sync_file_range" => return Ok(None),
        other => return Err(format!("`{other}` is not modelled")),
    };
    Ok(Some(call))
}

fn open(path: &str, flags: &str, fd: u64) -> Call {
    let has = |flag: &str| flags.split('|').any(|other| other == flag);
    Call::Open {
        path: path.to_owned(),
        create: has("O_CREAT"),
        exclusive: has("O_EXCL"),
        truncate: has("O_TRUNC"),
        append: has("O_APPEND"),
        fd,
    }
}

fn write(name: &str, arguments: &[&str]) -> Result<Call, String> {
    let [fd, data, _, ..] = arguments else { return Err("too few arguments".to_owned()) };
    let (fd, data) = (integer(fd)?, bytes(data)?);
    match (name, arguments.get(3)) {
        ("pwrite64", Some(offset)) => Ok(Call::WriteAt { fd, offset: integer(offset)?, data }),
        ("write", None) => Ok(Call::Write { fd, data }),
        _ => Err("a wrong number of arguments".to_owned()),
    }
}

/// A number in decimal, octal or hexadecimal notation
fn integer(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    number.map_err(|_| format!("`{text}` is no number"))
}

fn path(text: &str) -> Result<String, String> {
    String::from_utf8(bytes(text)?).map_err(|_| "a path that is not UTF-8".to_owned())
}

/// The bytes of a string in which each is `\xHH`
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let inner = inner.ok_or("a string that is cut")?;
    let digit = |byte: u8| char::from(byte).to_digit(16).ok_or("a byte that is not hexadecimal");
    let byte = |escape: &[u8]| match escape {
        [b'\\', b'x', high, low] => Ok((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => Err("a byte that is not escaped"),
    };
    Ok(inner.as_bytes().chunks(4).map(byte).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_several_threads_are_read() {
        let text = r#"11 openat(AT_FDCWD, "\x61", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3
12 pwrite64(3, "\x00\xff", 2, 4096 <unfinished ...>
11 fsync(3 <unfinished ...>
12 <... pwrite64 resumed>) = 2
11 <... fsync resumed>) = 0
11 openat(AT_FDCWD, "\x62", O_RDONLY) = -1 ENOENT (No such file or directory)
11 renameat2(AT_FDCWD, "\x61", AT_FDCWD, "\x62", 0) = 0
12 write(3, "", 0) = 0
11 exit_group(0) = ?
11 +++ exited with 0 +++"#;
        let calls = parse(text).unwrap();
        let expected = [
            Call::Open {
                path: "a".into(),
                create: true,
                exclusive: false,
                truncate: false,
                append: false,
                fd: 3,
            },
            Call::WriteAt { fd: 3, offset: 4096, data: vec![0, 255] },
            Call::Sync { fd: 3 },
            Call::Rename { from: "a".into(), to: "b".into() },
            Call::Write { fd: 3, data: vec![] },
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn what_is_not_modelled_is_an_error() {
        for line in [
            r#"1 copy_file_range(3, [0], 4, NULL, 10, 0) = 10"#,
            r#"1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000"#,
            r#"1 pwrite64(3, "\x00\xff", 2, 4096) = 1"#,
            r#"1 write(3, "\x00"..., 200) = 200"#,
            r#"1 unlinkat(5, "\x61", 0) = 0"#,
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
