//! What a handler's panic says.

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the handler panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}
