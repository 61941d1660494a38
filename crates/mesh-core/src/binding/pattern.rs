use std::fmt;
use std::sync::Arc;

use crate::subject::{Subject, SubjectError, check_tokens, text_impls};

/// A topic binding as AMQP 0-9-1 has it: words joined by `.`, where `*` is one whole word and `#`
/// zero or more, anywhere. 1 to 255 bytes, the characters of a subject. Cheap to clone.
///
/// `>` is an ordinary word here. Two texts that mean the same are not equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingPattern(Arc<str>);

impl BindingPattern {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`SubjectError`] with the problem and its byte offset.
    pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, SubjectError> {
        match check_tokens(text.as_ref(), |_, _| Ok(())) {
            Ok(()) => Ok(Self(text.into())),
            Err(problem) => Err(SubjectError { kind: "binding pattern", problem }),
        }
    }

    /// For text that was put together from a filter's tokens.
    pub(super) fn from_checked(text: String) -> Self {
        debug_assert_eq!(check_tokens(&text, |_, _| Ok(())), Ok(()), "{text}");
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The words between the dots, at least one.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('.')
    }

    /// Whether a topic exchange sends a message with this key to a queue bound so.
    ///
    /// ```
    /// use mesh_core::binding::BindingPattern;
    /// use mesh_core::subject::Subject;
    ///
    /// let pattern = BindingPattern::new("#.sent")?;
    /// assert!(pattern.matches(&Subject::new("mail.letter.sent")?));
    /// assert!(pattern.matches(&Subject::new("sent")?));
    /// # Ok::<(), mesh_core::subject::SubjectError>(())
    /// ```
    #[must_use]
    pub fn matches(&self, subject: &Subject) -> bool {
        let (mut words, mut tokens) = (self.words(), subject.tokens());
        // What follows the last `#` seen, and the tokens that it has not taken yet.
        let mut hash = None;
        loop {
            match words.next() {
                Some("#") => {
                    hash = Some((words.clone(), tokens.clone()));
                    continue;
                }
                Some(word) => match tokens.next() {
                    Some(token) if word == "*" || word == token => continue,
                    _ => {}
                },
                None if tokens.next().is_none() => return true,
                None => {}
            }
            // An earlier `#` need not take more: this one can take whatever that would.
            let Some((after, rest)) = &mut hash else {
                return false;
            };
            if rest.next().is_none() {
                return false;
            }
            (words, tokens) = (after.clone(), rest.clone());
        }
    }
}

text_impls!(BindingPattern);
