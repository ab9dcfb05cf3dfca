//! State of the chain in a storage: a handle, and its members as plain values.
//!
//! A state is a copy, so it never changes; any number of threads may read it.

use milepost::endpoint::ChainStatus;
use milepost::storage::BlockPoint;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::{plain_outputs, sized_outputs};
use crate::error::milepost_error;
use crate::value::{milepost_bytes, milepost_hash};

/// A block by height and hash
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct milepost_block_point {
    /// Its height
    pub height: u64,
    /// Its hash
    pub hash: milepost_hash,
}

impl From<BlockPoint> for milepost_block_point {
    fn from(point: BlockPoint) -> Self {
        Self { height: point.height, hash: point.hash.into() }
    }
}

/// State of the chain in the storage
pub struct milepost_chain_status {
    _private: (),
}

impl Handle for milepost_chain_status {
    type Value = ChainStatus;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_chain_status";
}

/// Members of a state of the chain; bytes belong to it
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_chain_status_view {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Whether there is a block: 0 or 1; if so, `head` and `earliest` are set
    pub has_head: i32,
    /// Whether a block is final: 0 or 1; if so, `last_final` is set
    pub has_last_final: i32,
    /// Newest canonical block
    pub head: milepost_block_point,
    /// Newest final block
    pub last_final: milepost_block_point,
    /// Oldest canonical block in the storage
    pub earliest: milepost_block_point,
    /// Number of canonical blocks in the storage
    pub blocks: u64,
    /// Number of batches that changed the chain: equal numbers mean equal blocks and rows
    pub generation: u64,
    /// `latest_protocol_version` of the head's header, the newest version that its producer
    /// supports; 0 without a head
    pub latest_protocol_version: u32,
    /// `chain_id` of the configurations, such as `mainnet`; no bytes without a configuration
    pub chain_id: milepost_bytes,
    /// Height from which on every canonical block up to the head was imported and is in the
    /// storage; 0 without a head
    pub complete_from: u64,
}

plain_outputs! { milepost_block_point }
sized_outputs! { milepost_chain_status_view }

ffi_function! {
    /// Returns the members of a state of the chain
    fn milepost_chain_status_read(
        chain_status: *const milepost_chain_status,
        view: *mut milepost_chain_status_view,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let point = |point: Option<BlockPoint>| point.map_or_else(Default::default, Into::into);
        view.write(milepost_chain_status_view {
            size: size_of::<milepost_chain_status_view>(),
            has_head: i32::from(chain_status.head.is_some()),
            has_last_final: i32::from(chain_status.last_final.is_some()),
            head: point(chain_status.head),
            last_final: point(chain_status.last_final),
            earliest: point(chain_status.earliest),
            blocks: chain_status.blocks,
            generation: chain_status.generation,
            latest_protocol_version: chain_status.latest_protocol_version.unwrap_or(0),
            chain_id: match &chain_status.chain_id {
                Some(chain_id) => milepost_bytes::new(chain_id.as_bytes()),
                None => milepost_bytes::NONE,
            },
            complete_from: chain_status.complete_from.unwrap_or(0),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees a state of the chain
    fn milepost_chain_status_free(chain_status: *mut milepost_chain_status);
}
