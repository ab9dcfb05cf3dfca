//! A second Rust library in the same program: it has a standard library, panics and catches of its
//! own.

/// Returns twice the number, or -1 if it is odd, by catching a panic
///
/// # Safety
///
/// No requirements; called from C.
#[unsafe(no_mangle)]
pub extern "C" fn other_doubles(number: i32) -> i32 {
    let text = number.to_string();
    let doubled = std::panic::catch_unwind(|| {
        assert!(number % 2 == 0, "{text} is odd");
        number * 2
    });
    doubled.unwrap_or(-1)
}
