//! Tests of the interface for C and C++: the header, and programs that are linked with the library.
//!
//! `MILEPOST_TOOL` names a checker under which the programs run: `address`, `thread` or `valgrind`.

mod abi;
mod adversarial;
mod api;
mod archive_check;
mod broken_storages;
mod c;
mod cpp;
mod example;
mod growth;
mod header;
mod package;
mod shared_vectors;
mod storage_check;
mod tools;
