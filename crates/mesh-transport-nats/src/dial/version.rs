//! Which servers are new enough (protocol §4).

/// Major, minor and patch.
pub(crate) type Version = (u64, u64, u64);

/// The oldest patch of each line that still has one, oldest line first. Newer lines are all fine.
const OLDEST: [Version; 2] = [(2, 11, 15), (2, 12, 6)];

/// Why a server is not new enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    /// Older than what is needed, a preview of it included.
    #[error("the server is nats-server {0}, needed is 2.11.15, 2.12.6 or newer")]
    TooOld(String),
    /// What it says is not a version.
    #[error("the server says that its version is {0:?}, which is none")]
    Unreadable(String),
}

/// Reads what a server says of itself, and refuses what is too old.
pub(crate) fn check(text: &str) -> Result<Version, VersionError> {
    let unreadable = || VersionError::Unreadable(text.chars().take(64).collect());
    let (version, preview) = parse(text).ok_or_else(unreadable)?;
    let line = |version: Version| (version.0, version.1);
    let enough = match OLDEST.iter().find(|oldest| line(**oldest) == line(version)) {
        // A preview comes before what it is a preview of.
        Some(oldest) => version > *oldest || version == *oldest && !preview,
        None => OLDEST.iter().all(|oldest| line(*oldest) < line(version)),
    };
    if enough { Ok(version) } else { Err(VersionError::TooOld(text.to_owned())) }
}

/// `2.12.6`, `v2.12.6`, `2.14.0-RC.1`, `2.12.6+build`: the version, and whether it is a preview.
fn parse(text: &str) -> Option<(Version, bool)> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (text, build) = text.split_once('+').unwrap_or((text, "b"));
    let (numbers, preview) = match text.split_once('-') {
        Some((numbers, preview)) => (numbers, Some(preview)),
        None => (text, None),
    };
    let suffix = |suffix: &str| {
        let part = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        suffix.split('.').all(part)
    };
    if !suffix(build) || !preview.is_none_or(suffix) {
        return None;
    }
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let mut parts = numbers.split('.').map(number);
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some((version, preview.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_enough_is_told_from_too_old() {
        for (text, version) in [
            ("2.11.15", (2, 11, 15)),
            ("2.11.16-RC.1", (2, 11, 16)),
            ("2.12.6", (2, 12, 6)),
            ("2.12.6+ds1-1", (2, 12, 6)),
            ("v2.12.10", (2, 12, 10)),
            ("2.13.0", (2, 13, 0)),
            ("2.14.0-dev", (2, 14, 0)),
            ("2.15.1", (2, 15, 1)),
            ("3.0.0-preview.1", (3, 0, 0)),
        ] {
            assert_eq!(check(text), Ok(version), "{text}");
        }
        for text in [
            "0.0.0",
            "1.99.99",
            "2.9.10",
            "2.10.29",
            "2.11.14",
            "2.11.15-RC.1",
            "2.12.0",
            "2.12.5",
            "2.12.6-preview.2",
        ] {
            let refused = check(text).unwrap_err();
            assert_eq!(refused, VersionError::TooOld(text.into()));
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in [
            "",
            "2",
            "2.12",
            "2.12.x",
            "2.12.6.1",
            "2.12.+6",
            "2..6",
            " 2.12.6",
            "2.12.6-",
            "2.12.6-RC..1",
            "2.12.6+",
            "2.12.99999999999999999999",
            "latest",
            "2.12.6 ",
            "٢.١٢.٦",
        ] {
            assert_eq!(check(text), Err(VersionError::Unreadable(text.into())), "{text:?}");
        }
    }

    #[test]
    fn a_long_version_is_not_repeated_whole() {
        assert!(check(&"9".repeat(10_000)).unwrap_err().to_string().len() < 200);
    }
}
