//! Tests of the engine, the vectors and the architecture, in one program.

mod answer_proof;
mod architecture;
mod broken_storages;
mod doubles;
mod features;
mod fuzz;
mod import;
mod isolation;
mod lake;
mod lies;
mod no_std;
mod node;
mod oracle;
mod proof;
mod readme;
mod simulation;
mod status;
mod strict_chain;
mod validity;
mod vectors;
mod verification;
mod watch;
mod wire;
