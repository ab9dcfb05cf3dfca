//! Which evaluation of a call it is: the first, a later one, or the last.
//!
//! Only the first has the signed transaction of the request, and only the first and the one at the
//! deadline ask the archive. The last always ends in a response.

use super::EndReason;
#[cfg(feature = "archive")]
use super::Settings;
use super::config_check::ConfigCheck;
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::rpc::InvalidTransaction;
use crate::transaction::EncodedTransaction;

/// An evaluation of a call, by its place among the others
#[derive(Clone, Debug)]
pub(super) enum Round {
    /// The call has not waited yet
    First {
        /// The transaction, if the request contains it
        signed: Option<EncodedTransaction>,
    },
    /// The rows have changed, or others of its batch were awaited
    Again,
    /// It gets a response whatever the rows are
    Last(EndReason),
}

impl Round {
    /// One that is not the first; the last if there is a reason for it
    pub(super) fn again(end_reason: Option<EndReason>) -> Self {
        end_reason.map_or(Self::Again, Self::Last)
    }

    /// Whether the call has not waited yet
    pub(super) const fn is_first(&self) -> bool {
        matches!(self, Self::First { .. })
    }

    /// The transaction in the request, which is checked if it is in no block
    pub(super) const fn signed(&self) -> Option<&EncodedTransaction> {
        match self {
            Self::First { signed } => signed.as_ref(),
            Self::Again | Self::Last(_) => None,
        }
    }

    /// Why this is the last evaluation, if it is
    pub(super) const fn end_reason(&self) -> Option<EndReason> {
        match self {
            Self::Last(reason) => Some(*reason),
            Self::First { .. } | Self::Again => None,
        }
    }

    /// When it asks the archive
    #[cfg(feature = "archive")]
    pub(super) fn lookup(&self, settings: &Settings) -> ArchiveLookup {
        match self {
            Self::First { .. } | Self::Last(EndReason::Timeout) => settings.archive,
            Self::Again | Self::Last(_) => ArchiveLookup::Never,
        }
    }

    /// Why the transaction in the request can never be executed, if it is known to be invalid:
    /// first what the configuration demands, then the signature, unless the build lacks its scheme
    pub(super) fn violation(
        &self,
        check: Option<&ConfigCheck>,
    ) -> Result<Option<InvalidTransaction>, Error> {
        let Some(signed) = self.signed() else { return Ok(None) };
        if let Some(violation) = check.map(|check| check.violation(signed)).transpose()?.flatten() {
            return Ok(Some(violation));
        }
        Ok((signed.try_verify() == Some(false)).then_some(InvalidTransaction::InvalidSignature))
    }
}

#[cfg(all(test, feature = "archive"))]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_evaluation_ask_the_archive() {
        let settings = Settings::default().with_archive(ArchiveLookup::Unfinished);
        for (round, asks) in [
            (Round::First { signed: None }, true),
            (Round::again(None), false),
            (Round::again(Some(EndReason::Shutdown)), false),
            (Round::again(Some(EndReason::Timeout)), true),
        ] {
            let expected = if asks { ArchiveLookup::Unfinished } else { ArchiveLookup::Never };
            assert_eq!(round.lookup(&settings), expected, "{round:?}");
        }
    }
}
