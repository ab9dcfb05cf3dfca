//! Another Rust library in the same program: it has a standard library, panics and catches them of its own.

/// Twice the number, unless it is odd: then a panic was caught
///
/// # Safety
///
/// None is needed; it is called by C.
#[unsafe(no_mangle)]
pub extern "C" fn stranger_doubles(number: i32) -> i32 {
    let text = number.to_string();
    let doubled = std::panic::catch_unwind(|| {
        assert!(number % 2 == 0, "{text} is odd");
        number * 2
    });
    doubled.unwrap_or(-1)
}
