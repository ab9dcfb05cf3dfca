//! The types of a protocol configuration: as views, and checked as text.
//!
//! Views are lossless: what a view has read it writes again, in the order of a node's answer, with
//! members it does not know and without members that were not there. Which configuration is in
//! force at a block is decided elsewhere, from rows.

mod check;
mod ext_costs;
mod fees;
mod layout;
mod limits;
mod protocol;
mod runtime;
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
pub use vm::{StorageGetMode, VMConfigView, VMKind};
