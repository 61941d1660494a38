use mesh_core::binding::BindingPattern;
use proptest::prelude::*;
use proptest::sample::select;

/// Any binding pattern: words of any letters, `*` and `#` anywhere, and now and then the word `>`.
pub fn binding_pattern() -> impl Strategy<Value = BindingPattern> {
    let plain = "[a-z]{1,6}|[^\\s\\p{C}.]{1,12}";
    let wild = select(&["*", "#", "*", "#", ">", "a#"][..]).prop_map(str::to_owned);
    let words = prop::collection::vec(prop_oneof![2 => plain, 1 => wild], 1..=8);
    words.prop_filter_map("too long", |words| BindingPattern::new(words.join(".")).ok())
}

/// A binding pattern of one to four words out of `a`, `b`, `c`, `*`, `#`: one that often matches one
/// of [`few_subjects`](super::few_subjects).
pub fn few_bindings() -> impl Strategy<Value = BindingPattern> {
    let words = prop::collection::vec(select(&["a", "b", "c", "*", "#"][..]), 1..=4);
    words.prop_filter_map("never", |words| BindingPattern::new(words.join(".")).ok())
}
