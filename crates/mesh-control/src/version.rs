//! Which versions of nats-server serve a mesh. The task that brings the program reads this file too, alone.

use std::fmt;

/// The oldest that does, in the 2.11 series and from 2.12 on: protocol §4.
const MINIMUMS: [Version; 2] = [Version::released(2, 11, 15), Version::released(2, 12, 6)];

/// A version as `nats-server --version` prints it. A preview comes before its release.
///
/// [`parse`](Self::parse) reads it; [`refusal`](Self::refusal) says why a mesh is not to be served by it
/// (protocol §4): older ones lack what the mesh's rights and streams rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    numbers: (u32, u32, u32),
    released: bool,
}

impl Version {
    const fn released(major: u32, minor: u32, patch: u32) -> Self {
        Self { numbers: (major, minor, patch), released: true }
    }

    /// The version in `nats-server: v2.15.1`, or in `2.15.1` alone.
    #[must_use]
    pub fn parse(printed: &str) -> Option<Self> {
        let text = printed.trim();
        let text = text.strip_prefix("nats-server:").unwrap_or(text).trim_start();
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, preview) = match text.split_once('-') {
            Some((numbers, preview)) => (numbers, Some(preview)),
            None => (text, None),
        };
        let mut parts = numbers.split('.').map(|part| part.parse().ok());
        let numbers = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(Self { numbers, released: preview.is_none() })
    }

    /// Nothing, or why a mesh is not to be served by it.
    #[must_use]
    pub fn refusal(self) -> Option<String> {
        let [in_series, later] = MINIMUMS;
        let (major, minor, _) = self.numbers;
        let minimum = if (major, minor) < (2, 12) { in_series } else { later };
        (self < minimum).then(|| {
            format!(
                "nats-server {self} is too old: it must be at least {in_series}, and from 2.12 on at \
                 least {later}"
            )
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(f, "{major}.{minor}.{patch}{}", if self.released { "" } else { " (a preview)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> bool {
        Version::parse(text).unwrap().refusal().is_some()
    }

    #[test]
    fn what_the_program_prints_is_read() {
        let printed = Version::parse("nats-server: v2.15.1\n");
        assert_eq!(printed, Some(Version::released(2, 15, 1)));
        assert_eq!(Version::parse("2.15.1"), printed);
        for other in ["", "nats-server: ", "v2.15", "2.15.1.1", "2.x.1", "erlang 25"] {
            assert_eq!(Version::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn each_series_has_its_own_minimum() {
        for old in ["2.9.10", "2.10.26", "2.11.14", "2.12.0", "2.12.5", "2.12.0-RC.1", "1.4.1"] {
            assert!(refused(old), "{old}");
        }
        for new in ["2.11.15", "2.11.20", "2.12.6", "2.14.0", "2.15.1", "2.16.0-RC.1", "3.0.0"] {
            assert!(!refused(new), "{new}");
        }
        assert!(refused("2.12.6-RC.1"));
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        let told = Version::parse("nats-server: v2.9.10").unwrap().refusal().unwrap();
        assert!(told.contains("2.9.10") && told.contains("2.11.15") && told.contains("2.12.6"));
    }
}
