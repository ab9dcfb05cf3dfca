//! Cost of a request through C, compared with the same request in Rust.
//!
//! Both answer from memory about one transaction and free the response within the measured time;
//! their responses are compared first.

use core::hint::black_box;
use core::{ptr, slice};
use std::fs;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::MemoryStorage;
use milepost_benches::{Cpu, group, with_input};
use milepost_ffi::engine::{
    milepost_engine, milepost_engine_free, milepost_engine_import_block, milepost_engine_new,
    milepost_engine_respond,
};
use milepost_ffi::response::{milepost_response, milepost_response_body, milepost_response_free};
use milepost_ffi::status::MILEPOST_STATUS_OK;
use milepost_ffi::value::milepost_bytes;
use milepost_tests::vectors;

/// Vectors about final transactions and one that is not final
const VECTORS: [&str; 3] = ["wait-reached-final", "wait-reached-included", "milestone-final"];

fn calls(criterion: &mut Criterion<Cpu>) {
    let manifest = vectors::load().expect("the manifest and its files");
    for name in VECTORS {
        let vector = manifest.vectors.iter().find(|vector| vector.name == name);
        let vector = vector.unwrap_or_else(|| panic!("no vector {name}"));
        let fixture = manifest.fixtures.iter().find(|fixture| fixture.name == vector.fixture);
        let fixture = fixture.expect("its fixture");
        let blocks: Vec<Vec<u8>> =
            fixture.blocks.iter().map(|path| fs::read(path).expect("a block")).collect();
        compare(criterion, name, &blocks, &vector.request);
    }
}

fn compare(criterion: &mut Criterion<Cpu>, name: &str, blocks: &[Vec<u8>], request: &[u8]) {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut c_engine = ptr::null_mut();
    // SAFETY: the pointers are to variables that outlive the call, or NULL where that is allowed.
    let status = unsafe { milepost_engine_new(ptr::null(), &mut c_engine, ptr::null_mut()) };
    assert_eq!(status, MILEPOST_STATUS_OK);
    for block in blocks {
        engine.import_block(block, &ImportSettings::default(), &mut storage).expect("a block");
        let (text, len) = (block.as_ptr(), block.len());
        // SAFETY: as above; `text` has `len` bytes.
        let status = unsafe {
            milepost_engine_import_block(c_engine, text, len, ptr::null_mut(), ptr::null_mut())
        };
        assert_eq!(status, MILEPOST_STATUS_OK);
    }
    let expected = respond_in_rust(&engine, &storage, request);
    respond_in_c(c_engine, request, |body| assert!(body == expected, "both respond alike"));

    let mut group = group(criterion, "call");
    let id = |side| BenchmarkId::new(side, format!("{name}, {} bytes", expected.len()));
    group.bench_function(id("Rust"), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, || request, |request| respond_in_rust(&engine, &storage, request))
        });
    });
    group.bench_function(id("C"), |bencher| {
        bencher.iter_custom(|count| {
            let check = |body: &[u8]| _ = black_box(body.len());
            with_input(count, || request, |request| respond_in_c(c_engine, request, check))
        });
    });
    group.finish();
    // SAFETY: `c_engine` is from `milepost_engine_new`, and nothing uses it any more.
    unsafe { milepost_engine_free(c_engine) };
}

fn respond_in_rust(engine: &Engine, storage: &MemoryStorage, request: &[u8]) -> Vec<u8> {
    match engine.respond(engine.parse(black_box(request), None), storage) {
        RequestState::Ready(response) => response.body,
        RequestState::Pending(_) => panic!("the vector waits"),
    }
}

fn respond_in_c(engine: *const milepost_engine, request: &[u8], check: impl FnOnce(&[u8])) {
    let request = black_box(request);
    let mut response: *mut milepost_response = ptr::null_mut();
    let mut body = milepost_bytes { data: ptr::null(), len: 0 };
    // SAFETY: the engine is live; the request has this length; the outputs are local variables; the
    // body is read before the response that it belongs to is freed.
    unsafe {
        let status = milepost_engine_respond(
            engine,
            request.as_ptr(),
            request.len(),
            ptr::null(),
            0,
            &mut response,
            ptr::null_mut(),
        );
        assert_eq!(status, MILEPOST_STATUS_OK);
        assert_eq!(
            milepost_response_body(response, &mut body, ptr::null_mut()),
            MILEPOST_STATUS_OK
        );
        check(slice::from_raw_parts(body.data, body.len));
        milepost_response_free(response);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = calls
}
criterion_main!(benches);
