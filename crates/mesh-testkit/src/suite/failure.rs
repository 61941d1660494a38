use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// Why a case failed, and where in the case.
///
/// Any error becomes one with `?`, so it is no `Error` itself.
pub struct Failure {
    text: String,
    location: &'static Location<'static>,
}

impl Failure {
    /// A failure that says this.
    #[track_caller]
    pub fn new(text: impl Into<String>) -> Self {
        /// A message under test may be a megabyte long.
        const SHOWN: usize = 600;
        let mut text = text.into();
        if text.len() > SHOWN {
            text = text.chars().take(SHOWN).chain(['…']).collect();
        }
        Self { text, location: Location::caller() }
    }

    /// The same, said of this place.
    pub(crate) fn at(self, location: &'static Location<'static>) -> Self {
        Self { location, ..self }
    }
}

impl<E: Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self::new(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, location } = self;
        write!(f, "{text} ({}:{})", location.file(), location.line())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Lets a helper of cases fail at its caller's line. An `async fn` can't: it runs after its caller
/// has gone on.
#[track_caller]
pub(crate) fn located<T, F>(future: F) -> impl Future<Output = Result<T, Failure>> + Send
where
    F: Future<Output = Result<T, Failure>> + Send,
{
    let caller = Location::caller();
    async move { future.await.map_err(|failure| failure.at(caller)) }
}

/// Fails the case unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::suite::Failure::new(format!($($text)+)));
        }
    };
}

/// Fails the case unless both are equal.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $what:expr) => {
        // What either borrows from lives until the end of this.
        match (&$found, &$expected) {
            (found, expected) => {
                if *found != *expected {
                    return Err($crate::suite::Failure::new(format!(
                        "{}: expected {expected:?}, found {found:?}",
                        $what
                    )));
                }
            }
        }
    };
}

pub(crate) use {ensure, ensure_eq};
