//! Times from a commit to the bytes at a client.

use core::fmt;

/// Commits, and the times after the newest one at which something arrived
#[derive(Debug, Default)]
pub(crate) struct Delays {
    /// Seconds since 1970, in order
    commits: Vec<f64>,
    /// Seconds
    delays: Vec<f64>,
}

impl Delays {
    pub(crate) fn committed(&mut self, time: f64) {
        self.commits.push(time);
    }

    /// Takes in an arrival, unless it was before the first commit
    pub(crate) fn arrived(&mut self, time: f64) {
        let after = self.commits.partition_point(|commit| *commit <= time);
        let commit = after.checked_sub(1).and_then(|index| self.commits.get(index));
        self.delays.extend(commit.map(|commit| time - commit));
    }

    fn quantile(sorted: &[f64], share: f64) -> f64 {
        let index = (sorted.len() as f64 * share) as usize;
        1e3 * sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.delays.clone();
        sorted.sort_by(f64::total_cmp);
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| Self::quantile(&sorted, share));
        write!(
            formatter,
            "median {half:.1} ms, 99 % {most:.1} ms, all {all:.1} ms, of {} changes",
            sorted.len()
        )
    }
}
