//! A program of somebody else: it has the crates as they are published, and nothing of the
//! repository.
//!
//! `cargo xtask packages` builds it outside of the workspace. The messages of a practice chain are
//! read as those of a feed and go into a file, and one transaction is asked for until it is final;
//! then an archive alone has to give the same answer.

use milepost::archive::{ArchiveLookup, Origin, WithArchive, WriterId};
use milepost::config::TrackedShards;
use milepost::endpoint::{self, ArchiveExporter, Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::{MemoryStorage, Snapshot, Storage as _};
use milepost_archive::{CompressedArchive, DirectoryArchive};
use milepost_cassandra::Address;
use milepost_feeds::FeedBlock;
use milepost_practice::{Practice, Settings};
use milepost_protocol::views::Milestone;
use milepost_redb::{Options, RedbStorage};

/// A transaction of the practice chain is final after fewer blocks than this
const BLOCKS: usize = 100;
const WRITER: WriterId = WriterId(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: consumer DIRECTORY")?;
    let address: Address = "cassandra://10.0.0.1/history?dc=dc1".parse()?;
    assert_eq!(address.keyspace(), "history");

    let mut storage =
        RedbStorage::open(format!("{directory}/chain.milepost"), &Options::default())?;
    let (engine, mut chain) = (Engine::default(), Practice::new(Settings::demo(1)));
    let mut request = None;
    for _ in 0..BLOCKS {
        let block = chain.next_message();
        let message = FeedBlock::read(block.json, TrackedShards::ALL)?;
        engine.import_block(message.as_ref(), &ImportSettings::default(), &mut storage)?;
        if let (None, Some(first)) = (&request, block.transactions.first()) {
            let (hash, signer_id) = (&first.hash, &first.signer_id);
            request = Some(format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":
                    {{"tx_hash":"{hash}","sender_account_id":"{signer_id}","wait_until":"{}"}}}}"#,
                Milestone::Final
            ));
        }
        let Some(request) = &request else { continue };
        let Some(response) = ask(engine, request, &storage.snapshot()?)? else { continue };
        println!("{response}");

        let archive = DirectoryArchive::open(format!("{directory}/archive"))?;
        let archive = CompressedArchive::new(archive, Origin::of(WRITER))?;
        ArchiveExporter::new(u64::MAX, Some(WRITER)).run(&mut storage, &archive, false)?;
        let settings = endpoint::Settings::default().with_archive(ArchiveLookup::Unknown);
        let alone = WithArchive { snapshot: &MemoryStorage::new(), archive: &archive };
        let archived = ask(Engine::new(settings), request, &alone)?;
        assert_eq!(archived.as_ref(), Some(&response), "the archive's answer");
        return Ok(());
    }
    Err(format!("not final after {BLOCKS} blocks").into())
}

/// The response, which has to be final; none while the request would wait
fn ask(
    engine: Engine,
    request: &str,
    snapshot: &impl Snapshot,
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let state = engine.respond(engine.parse(request.as_bytes(), None), snapshot);
    let RequestState::Ready(response) = state else { return Ok(None) };
    let response = String::from_utf8(response.body)?;
    let is_final =
        response.contains(&format!(r#""final_execution_status":"{}""#, Milestone::Final));
    if is_final { Ok(Some(response)) } else { Err(format!("not final: {response}").into()) }
}
