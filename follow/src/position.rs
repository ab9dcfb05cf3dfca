//! Where a follower is on the chain, and the purpose of each request.

use milepost::primitives::{BlockHeight, CryptoHash};

use crate::request::Finality;

/// The current step of a follower
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Position {
    /// Asks for the last final block of a feed
    Start,
    /// Looks for the lowest block of a stream from `first` on, at `low` or above until a block says
    /// otherwise; there is one at `high`
    Seek { first: BlockHeight, low: BlockHeight, high: BlockHeight, finality: Finality },
    /// Takes the final chain up to a height
    Final { next: BlockHeight, until: BlockHeight },
    /// Looks how far the feed is above the head
    Measure,
    /// Takes the optimistic stream
    Optimistic { next: BlockHeight },
}

impl Position {
    /// The stream that is taken, and its next height
    pub(crate) const fn stream(self) -> Option<(BlockHeight, Finality)> {
        match self {
            Self::Final { next, .. } => Some((next, Finality::Final)),
            Self::Optimistic { next } => Some((next, Finality::Optimistic)),
            Self::Start | Self::Seek { .. } | Self::Measure => None,
        }
    }
}

/// The purpose of a request
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// Nothing any more
    Dropped,
    Start,
    Seek(BlockHeight),
    Measure,
    /// The newest block, above heights without a block
    Gap,
    /// The parent of an orphan
    Repair(CryptoHash),
    /// Ten heights of the final chain
    Archive(BlockHeight),
    /// The block at a height
    Stream(BlockHeight),
    /// Whether a feed has the chain that is followed
    Identity,
    /// How far a feed is that is not asked first
    Probe,
}

impl Purpose {
    /// Whether it is for the place at which the follower is, and not for the chain
    pub(crate) const fn is_of_position(self) -> bool {
        match self {
            Self::Start | Self::Seek(_) | Self::Measure | Self::Gap => true,
            Self::Archive(_) | Self::Stream(_) => true,
            Self::Dropped | Self::Repair(_) | Self::Identity | Self::Probe => false,
        }
    }
}
