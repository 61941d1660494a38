//! `mesh uri|envelope|topic explain`: what a person finds in a capture, in words.
//!
//! All that is said follows from the core's own parsers, topology and permissions.

pub(crate) mod envelope;
mod fault;
mod page;
mod place;
#[cfg(test)]
mod testing;
pub(crate) mod topic;
pub(crate) mod uri;

use fault::Fault;
pub(crate) use page::Page;
pub(crate) use place::Place;

/// A text cut to at most `most` characters, with how much there is where it was cut.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
        }
    }
}
