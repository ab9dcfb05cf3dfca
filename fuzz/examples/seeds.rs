//! Writes the first inputs of the targets that the vectors have none for, into a directory for each
//! target: `cargo run --example seeds -- DIRECTORY`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args().nth(1).expect("usage: seeds DIRECTORY");
    for (target, number, bytes) in milepost_fuzz::seeds() {
        let directory = Path::new(&directory).join(target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("seed-{number}")), bytes)?;
    }
    Ok(())
}
