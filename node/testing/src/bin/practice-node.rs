//! The practice node as a program, which prints its address. Ends when its standard input does.

#![expect(unused_crate_dependencies, reason = "those of the library")]

use std::io;

use milepost_testing::feed::FeedServer;

fn main() -> io::Result<()> {
    let node = FeedServer::practice_node()?;
    println!("{}", node.endpoint());
    io::copy(&mut io::stdin(), &mut io::sink()).map(|_| ())
}
