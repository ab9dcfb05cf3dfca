//! Proofs of answers about transactions that a storage has forgotten, from its archive.

use milepost::archive::{
    Archive as _, ArchiveLookup, ArchivedProof, MemoryArchive, WithArchive, WriterId,
};
use milepost::endpoint::{ArchiveExporter, Settings as EngineSettings};
use milepost::import::Retention;
use milepost::storage::Table;

use super::*;

/// A storage of a few blocks, and the archive that has the others
struct Archived {
    verifier: BlockVerifier,
    storage: MemoryStorage,
    archive: MemoryArchive,
    exporter: ArchiveExporter,
}

impl Archived {
    fn new() -> Self {
        let (storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
        let exporter = ArchiveExporter::new(1_000, Some(WriterId(1)));
        Self { verifier: BlockVerifier::new(VerifyMode::Strict), storage, archive, exporter }
    }

    fn engine() -> Engine {
        Engine::new(EngineSettings::default().with_archive(ArchiveLookup::Unknown))
    }

    fn import(&mut self, message: &[u8], exports: bool) {
        let settings = ImportSettings::default().with_retention(Retention::Blocks(4));
        let (_, import) = self.verifier.read(message, self.exporter.import_settings(settings));
        // Some blocks of a chain with forks are refused.
        let Ok((batch, _)) = import.unwrap().run(&self.storage) else { return };
        self.storage.commit(batch).unwrap();
        if exports {
            self.exporter.run(&mut self.storage, &self.archive, false).unwrap();
        }
    }

    fn proof(&self, hash: CryptoHash, end: ProofEnd) -> Result<Option<String>, milepost::Error> {
        let both = WithArchive { snapshot: &self.storage, archive: &self.archive };
        Ok(Self::engine().prove(hash, end, &both)?.map(|proof| proof.to_json()))
    }
}

#[test]
fn proofs_from_an_archive_are_those_of_a_storage_that_keeps_everything() {
    for (number, settings) in variants().into_iter().enumerate() {
        let (mut chain, mut archived) = (Chain::new(settings), Archived::new());
        for index in 0..80 {
            // The newest final blocks are in the storage alone.
            archived.import(&chain.import_next(), index < 70);
        }
        let blocks = [5, 20, 40, 68, 79].map(|index| ProofEnd::Block(chain.blocks[index]));
        let ends: Vec<_> = [ProofEnd::LastFinal].into_iter().chain(blocks).collect();
        let (mut proofs, mut forgotten) = (0, 0);
        for (index, hash) in chain.transactions.iter().copied().enumerate() {
            let hot = run(&mut StatusQuery::new(hash, 1_000), &archived.storage).unwrap();
            forgotten += usize::from(hot.is_none());
            for end in [ProofEnd::Confirmation, ends[index % ends.len()]] {
                let Ok(whole) = chain.engine.prove(hash, end, &chain.storage) else {
                    assert!(archived.proof(hash, end).is_err(), "variant {number}: {hash} {end:?}");
                    continue;
                };
                let whole = whole.map(|proof| proof.to_json());
                proofs += usize::from(whole.is_some());
                let found = archived.proof(hash, end).unwrap();
                assert!(found == whole, "variant {number}: {hash} {end:?}: {found:?}");
            }
        }
        assert!(proofs > 50 && forgotten > 10, "variant {number}: {proofs}, {forgotten}");
    }
}

#[test]
fn an_archive_that_lacks_proofs_of_blocks_is_an_error_and_no_shorter_proof() {
    let mut practice = Practice::new(Settings::demo(11));
    let mut archived = Archived::new();
    let (mut transactions, mut blocks) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        let message = practice.next_message();
        transactions.extend(message.transactions.iter().map(|one| one.hash));
        blocks.push(message.hash);
        archived.import(&message.json, true);
    }
    let is_proven =
        |hash: &&CryptoHash| archived.proof(**hash, ProofEnd::Confirmation).unwrap().is_some();
    let hash = *transactions.iter().find(is_proven).unwrap();
    let shortest = archived.proof(hash, ProofEnd::Confirmation).unwrap().unwrap();
    let end = block_hash(&shortest);

    let unknown = ProofEnd::Block(CryptoHash::digest(b"no block"));
    let error = archived.proof(hash, unknown).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Value, "block"));

    archived.archive.remove_many(&[ArchivedProof::key(end)]).unwrap();
    let error = archived.proof(hash, ProofEnd::Confirmation).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Usage, &*format!("block {end}")));
    assert!(error.detail().contains("archived without a check against its hash"), "{error}");

    let mut heights = Vec::new();
    archived.archive.scan(Table::ArchivedHeights, None, 1_000, &mut heights).unwrap();
    let heights: Vec<_> = heights.into_iter().map(|(key, _)| key).collect();
    archived.archive.remove_many(&heights).unwrap();
    let error = archived.proof(hash, ProofEnd::Confirmation).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.detail().contains("no block after it is kept or archived"), "{error}");
}
