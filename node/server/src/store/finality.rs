//! The rule of finality of a store: the one that is asked for, or by which it was filled.
//!
//! A store that was filled by another rule is never taken over silently: what changes is logged,
//! with the height up to which it is final. What is final stays so.

use milepost::Error;
use milepost::endpoint::Engine;
use milepost::import::FinalityRule;
use tracing::warn;

use crate::store::Store;

/// The rule by which blocks are to be imported into a store; makes final what it has if all blocks
/// are
pub(crate) fn rule_of_store(
    engine: &Engine,
    store: &Store,
    requested: Option<FinalityRule>,
) -> Result<FinalityRule, Error> {
    let chain = engine.chain_status(&store.snapshot())?;
    let (Some(stored), Some(head)) = (chain.finality, chain.head) else {
        return Ok(requested.unwrap_or_default());
    };
    let rule = requested.unwrap_or(stored);
    let head = head.height;
    match (stored, rule) {
        (FinalityRule::Headers, FinalityRule::All) => warn!(
            "the store was filled with --finality headers: its blocks up to {head} become final"
        ),
        (FinalityRule::All, FinalityRule::Headers) => warn!(
            "the store was filled with --finality all: its blocks up to {head} stay final, and a \
             block that would revert one of them is refused"
        ),
        _ => {}
    }
    if rule == FinalityRule::All {
        while engine.make_final(&mut store.block_writer())?.is_some() {}
    }
    Ok(rule)
}
