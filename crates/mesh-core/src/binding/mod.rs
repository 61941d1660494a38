//! AMQP binding patterns, and their exact translation from and to filters (protocol §1).
//!
//! A [`BindingPattern`] is what binds a queue to a topic exchange: words joined by `.`, where `*`
//! is one word and `#` zero or more, anywhere. A translation means exactly the same subjects, or
//! it is an [`Untranslatable`] that names a subject on which the two would disagree.
//!
//! ```
//! use mesh_core::binding::BindingPattern;
//! use mesh_core::subject::Filter;
//!
//! let filter = Filter::new("mail.>")?;
//! assert_eq!(BindingPattern::from_filter(&filter)?.as_str(), "mail.*.#");
//! assert_eq!(
//!     BindingPattern::new("mail.#")?.to_filters()?,
//!     [Filter::new("mail")?, Filter::new("mail.>")?],
//! );
//!
//! let refused = BindingPattern::new("mail.#.sent")?.to_filters().unwrap_err();
//! assert_eq!(refused.counter_example.as_str(), "mail.x");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod pattern;
mod translate;

#[cfg(test)]
mod tests;

pub use error::{TranslationProblem, Untranslatable};
pub use pattern::BindingPattern;
