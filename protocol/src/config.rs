//! Protocol configurations: the JSON types, and a check of their text.
//!
//! Views are lossless: a view writes what it has read, sorted as in a node's response, with unknown
//! members and without members that were absent. They are `non_exhaustive`, because protocol
//! upgrades add members; [`json::read`](crate::codec::json::read) constructs them.

mod check;
mod ext_costs;
mod fees;
mod layout;
mod limits;
mod protocol;
mod runtime;
mod shard_assignment;
mod transaction_rules;
mod values;
mod vm;

pub use check::{CheckedConfig, check};
pub use ext_costs::ExtCostsConfigView;
pub use fees::{
    AccessKeyCreationConfigView, ActionCreationConfigView, DataReceiptCreationConfigView, Fee,
    RuntimeFeesConfigView, StorageUsageConfigView,
};
pub use layout::{
    ShardLayout, ShardLayoutV0, ShardLayoutV1, ShardLayoutV2, ShardLayoutV3, ShardMap,
};
pub use limits::LimitConfig;
pub use protocol::ProtocolConfigView;
pub use runtime::{
    AccountCreationConfigView, CongestionControlConfigView, RuntimeConfigView, WitnessConfigView,
};
#[doc(hidden)]
pub use shard_assignment::ShardAssignment;
#[doc(hidden)]
pub use transaction_rules::TransactionRules;
pub use vm::{StorageGetMode, VMConfigView, VMKind};
