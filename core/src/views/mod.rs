//! The shapes of the wire, for hosts that look inside an answer.
//!
//! Reading a view applies the defaults of the node's readers; writing it gives the node's normal
//! form, members sorted at every level. Unknown members and unknown variants survive. Scalars are
//! valid once read. The engine itself joins finished texts and builds no views on its hot path.

mod extra;
mod metadata;
mod wire;

pub use extra::{Extra, Raw, UnknownVariant};
pub use metadata::{AccountContractView, CostGasUsed, ExecutionMetadataView};
