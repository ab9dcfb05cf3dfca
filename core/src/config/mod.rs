//! The protocol configuration: which block it is asked for, its shape, its bytes.
//!
//! Typed views are for hosts that look inside. They are lossless: what a view has read it writes
//! again, in the order of a node's answer, with members it does not know and without members that
//! were not there. Answers themselves are made of the text that was checked when it came in.

mod check;
mod ext_costs;
mod fees;
mod layout;
mod limits;
mod protocol;
mod put;
mod question;
mod runtime;
mod selector;
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
pub use put::PutQuestion;
pub use question::{ConfigAnswer, ConfigQuestion};
pub use runtime::{
    AccountCreationConfigView, CongestionControlConfigView, RuntimeConfigView, WitnessConfigView,
};
pub use selector::{BlockReference, Finality, SyncCheckpoint};
pub use vm::{StorageGetMode, VMConfigView, VMKind};
