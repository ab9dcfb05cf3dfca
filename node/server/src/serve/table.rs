//! The action of a start for each state of a store and an archive, as data.
//!
//! `docs/OPERATING.md` has the same table, which a test compares. Nothing that was lost or damaged
//! is taken for empty: such a start is refused, because an empty store or archive would answer that
//! transactions are unknown.

/// A place that a start reads
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The file of the store
    Store,
    /// The archive in the directory of the store
    Beside,
    /// A directory that `--archive` names
    Directory,
    /// A cluster that `--archive` names
    Cluster,
    /// One that `--archive-older` names
    Older,
}

/// The state in which a start finds it
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// It is read, and has rows
    There,
    /// There is none, and nothing says that there was one
    Missing,
    /// It is read, and has no rows
    Empty,
    /// It is missing, or an archive is empty, and something says that rows were there
    Gone,
    /// It has rows of another chain than the store, the feed or another archive
    OtherChain,
    Damaged,
    /// Another program wrote it, or a release with another format
    Foreign,
    /// The operating system refuses to open it
    NotReadable,
    /// Another process has it open
    InUse,
    /// Its disk or its cluster does not answer
    NotReachable,
}

/// The action of a start
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Use,
    /// Makes an empty one
    Make,
    /// Serves the store, and opens the archive once it can be reached
    Later,
    /// Ends with this exit code
    End(u8),
    /// Ends with exit code 3, unless `--accept-loss` is given
    EndUnlessAccepted,
    /// The place is never in this state
    Never,
}

use Action::{End, EndUnlessAccepted, Later, Make, Never, Use};

/// The columns of [`TABLE`]
const PLACES: [Place; 5] =
    [Place::Store, Place::Beside, Place::Directory, Place::Cluster, Place::Older];

/// Each state, with the action at each of the places
#[rustfmt::skip]
const TABLE: [(State, [Action; PLACES.len()]); 10] = [
    //                    store              beside             directory          cluster    older
    (State::There,        [Use,               Use,               Use,               Use,       Use]),
    (State::Missing,      [Make,              Make,              Make,              Make,      End(2)]),
    (State::Empty,        [Use,               Use,               Use,               Use,       Use]),
    (State::Gone,         [EndUnlessAccepted, EndUnlessAccepted, EndUnlessAccepted, EndUnlessAccepted, Never]),
    (State::OtherChain,   [End(2),            End(2),            End(2),            End(2),    End(2)]),
    (State::Damaged,      [EndUnlessAccepted, EndUnlessAccepted, EndUnlessAccepted, Use,       End(3)]),
    (State::Foreign,      [End(2),            End(2),            End(2),            End(2),    End(2)]),
    (State::NotReadable,  [End(1),            End(1),            End(1),            Later,     End(1)]),
    (State::InUse,        [End(1),            End(1),            End(1),            Never,     End(1)]),
    (State::NotReachable, [End(1),            Later,             Later,             Later,     Later]),
];

/// The action of a start for this place in this state
pub(crate) fn action(place: Place, state: State) -> Action {
    let row = TABLE.iter().find(|(of, _)| *of == state);
    let columns = row.into_iter().flat_map(|(_, actions)| PLACES.iter().zip(actions));
    // The table has every place and every state, which a test shows.
    columns.filter(|(of, _)| **of == place).map(|(_, action)| *action).next().unwrap_or(Never)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page with the table
    const PAGE: &str = include_str!("../../../../docs/OPERATING.md");

    /// The first words of a row of the page
    const fn name(state: State) -> &'static str {
        match state {
            State::There => "there",
            State::Missing => "missing",
            State::Empty => "empty",
            State::Gone => "gone",
            State::OtherChain => "of another chain",
            State::Damaged => "damaged",
            State::Foreign => "of another program or release",
            State::NotReadable => "not readable",
            State::InUse => "in use",
            State::NotReachable => "not reachable",
        }
    }

    /// A cell of the page
    fn cell(action: Action) -> String {
        match action {
            Use => "uses it".to_owned(),
            Make => "makes it".to_owned(),
            Later => "serves, opens it later".to_owned(),
            End(code) => format!("exit code {code}"),
            EndUnlessAccepted => "exit code 3, or `--accept-loss`".to_owned(),
            Never => "–".to_owned(),
        }
    }

    #[test]
    fn the_page_has_the_table() {
        let rows = PAGE.lines().filter_map(|line| {
            let cells: Vec<&str> =
                line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
            (cells.len() == PLACES.len() + 2).then_some(cells)
        });
        let mut rows = rows.skip_while(|cells| cells[0] != "state");
        let head = rows.next().expect("the table is there");
        assert_eq!(
            head[2..],
            ["store", "archive beside it", "`--archive DIR`", "cluster", "`--archive-older`"]
        );
        let rows: Vec<Vec<&str>> = rows.take(TABLE.len()).collect();
        assert_eq!(rows.len(), TABLE.len());
        for ((state, actions), cells) in TABLE.iter().zip(rows) {
            assert_eq!(cells[0], name(*state));
            let expected: Vec<String> = actions.iter().copied().map(cell).collect();
            assert_eq!(cells[2..], expected, "{state:?}");
        }
    }

    #[test]
    fn each_place_is_found_by_its_name() {
        assert_eq!(action(Place::Store, State::Missing), Make);
        assert_eq!(action(Place::Beside, State::Gone), EndUnlessAccepted);
        assert_eq!(action(Place::Directory, State::NotReachable), Later);
        assert_eq!(action(Place::Cluster, State::Damaged), Use);
        assert_eq!(action(Place::Older, State::Missing), End(2));
    }
}
