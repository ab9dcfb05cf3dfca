//! The answers of a real node, over HTTP.

use milepost_testing::server::{self, Server};
use milepost_tests::node::{CHAINS, recorded_chain};
use milepost_tests::vectors;

#[test]
fn the_server_gives_every_answer() {
    let program = server::program().expect("the server is built");
    // None without the shared data.
    for chain in CHAINS.iter().filter_map(|name| recorded_chain(name)) {
        let directory = tempfile::tempdir().expect("a directory for vectors");
        chain.write_vectors(directory.path());
        let manifest = vectors::load_from(directory.path()).expect("the vectors");
        let count = manifest.vectors[0].max_batch.expect("a batch");
        let flags = [format!("--max-batch={count}"), "--verify=strict".to_owned()];
        let server = Server::start(&program, &manifest.fixtures[0], &flags, directory.path());
        let server = server.expect("the server starts");
        for vector in &manifest.vectors {
            assert_eq!(server.run(vector), Ok(()), "{}", vector.name);
        }
    }
}
