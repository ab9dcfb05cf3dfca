//! What a request costs through C beside the same request in Rust.
//!
//! Both answer from memory about one transaction, and give their answer back to the allocator, within the
//! time that is measured; their answers are compared first. Leaves out waiting, which costs no calls.

use core::hint::black_box;
use core::{ptr, slice};
use std::fs;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::engine::Engine;
use milepost::facts::MemoryStorage;
use milepost::ingest::IngestSettings;
use milepost_benches::{Cpu, group, with_input};
use milepost_ffi::answer::{milepost_answer, milepost_answer_body, milepost_answer_free};
use milepost_ffi::engine::{
    milepost_engine, milepost_engine_answer, milepost_engine_free, milepost_engine_ingest,
    milepost_engine_new,
};
use milepost_ffi::status::MILEPOST_STATUS_OK;
use milepost_ffi::value::milepost_bytes;
use milepost_tests::vectors;

/// Vectors about final transactions and one that is not
const VECTORS: [&str; 3] = ["wait-reached-final", "wait-reached-included", "milestone-final"];

fn calls(criterion: &mut Criterion<Cpu>) {
    let manifest = vectors::load().expect("the manifest and its files");
    for name in VECTORS {
        let vector = manifest.vectors.iter().find(|vector| vector.name == name);
        let vector = vector.unwrap_or_else(|| panic!("no vector is called {name}"));
        let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene);
        let scene = scene.expect("its scene");
        let blocks: Vec<Vec<u8>> =
            scene.blocks.iter().map(|path| fs::read(path).expect("a block")).collect();
        compare(criterion, name, &blocks, &vector.request);
    }
}

fn compare(criterion: &mut Criterion<Cpu>, name: &str, blocks: &[Vec<u8>], request: &[u8]) {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut other = ptr::null_mut();
    // SAFETY: the pointers are those of variables that outlive the call, or NULL where that is allowed.
    let made = unsafe { milepost_engine_new(ptr::null(), &mut other, ptr::null_mut()) };
    assert_eq!(made, MILEPOST_STATUS_OK);
    for block in blocks {
        engine.ingest(block, &IngestSettings::default(), &mut storage).expect("a block");
        let (text, len) = (block.as_ptr(), block.len());
        // SAFETY: as above; `text` has `len` bytes.
        let taken =
            unsafe { milepost_engine_ingest(other, text, len, ptr::null_mut(), ptr::null_mut()) };
        assert_eq!(taken, MILEPOST_STATUS_OK);
    }
    let expected = in_rust(&engine, &storage, request);
    through_c(other, request, |body| assert!(body == expected, "both give one answer"));

    let mut group = group(criterion, "call");
    let id = |side| BenchmarkId::new(side, format!("{name}, {} bytes", expected.len()));
    group.bench_function(id("Rust"), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, || request, |request| in_rust(&engine, &storage, request))
        });
    });
    group.bench_function(id("C"), |bencher| {
        bencher.iter_custom(|count| {
            let look = |body: &[u8]| _ = black_box(body.len());
            with_input(count, || request, |request| through_c(other, request, look))
        });
    });
    group.finish();
    // SAFETY: `other` came from `milepost_engine_new`, and nothing uses it any more.
    unsafe { milepost_engine_free(other) };
}

fn in_rust(engine: &Engine, storage: &MemoryStorage, request: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    engine.respond(black_box(request), None, storage, &mut out);
    out
}

fn through_c(engine: *const milepost_engine, request: &[u8], look: impl FnOnce(&[u8])) {
    let request = black_box(request);
    let mut answer: *mut milepost_answer = ptr::null_mut();
    let mut body = milepost_bytes { data: ptr::null(), len: 0 };
    // SAFETY: the engine lives; the request has so many bytes; the outputs are variables of this function; the
    // body is looked at before the answer it belongs to is freed.
    unsafe {
        let status = milepost_engine_answer(
            engine,
            request.as_ptr(),
            request.len(),
            ptr::null(),
            0,
            &mut answer,
            ptr::null_mut(),
        );
        assert_eq!(status, MILEPOST_STATUS_OK);
        assert_eq!(milepost_answer_body(answer, &mut body), MILEPOST_STATUS_OK);
        look(slice::from_raw_parts(body.data, body.len));
        milepost_answer_free(answer);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = calls
}
criterion_main!(benches);
