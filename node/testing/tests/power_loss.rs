//! A small version of the run that `cargo xtask verify power-loss` makes.

use std::path::Path;

use milepost_testing::power_loss::faults;

const PROGRAM: &str = env!("CARGO_BIN_EXE_milepost-power-loss");

#[test]
fn what_is_acknowledged_survives_a_power_failure() {
    let summary = faults::power_failures(Path::new(PROGRAM), 200, 0).unwrap();
    println!("{summary:?}");
    assert!(summary.disks == 200 && summary.points > 1_000 && summary.further > 5, "{summary:?}");
    assert!((50..150).contains(&summary.verified), "{summary:?}");
}

#[test]
fn what_is_acknowledged_survives_errors_of_the_disk() {
    let summary = faults::errors(Path::new(PROGRAM), 12, 0).unwrap();
    println!("{summary:?}");
    assert!(summary.disks == 12 && summary.ended > 4, "{summary:?}");
}

#[test]
fn reads_that_fail_are_errors_and_never_unknown_transactions() {
    let summary = faults::reads(Path::new(PROGRAM), 40, 0).unwrap();
    println!("{summary:?}");
    assert!(summary.ended > 5 && summary.failed > 5, "{summary:?}");
    assert!(summary.failed < summary.answers, "{summary:?}");
}
