#![doc = include_str!("README.md")]

mod act;
mod can;
mod diff;
mod gain;
mod note;
mod reach;
mod settings;
mod walk;
mod who;
mod words;

#[cfg(test)]
mod tests;

pub use act::{Act, ActError};
pub use can::{Decision, can};
pub use diff::{Diff, Presence, Step, UserDiff};
pub use gain::{Gain, How, gains};
pub use note::Note;
pub use reach::Reach;
pub use settings::Setting;
pub use who::{Who, who_may_publish, who_may_subscribe};
