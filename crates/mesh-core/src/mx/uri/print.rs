use std::fmt;

use super::MxUri;
use crate::percent;

impl fmt::Display for MxUri<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.front(f)?;
        let atom = self.path.as_str().rsplit('/').next().unwrap_or_default();
        f.write_str(&percent::encode(atom, keeps_in_path))
    }
}

impl MxUri<'_> {
    /// The segmented form: `matrix://<realm>/<mount…>/-/<component/…>/<plane>/<message>`.
    #[must_use]
    pub fn segmented(&self) -> impl fmt::Display {
        Segmented(self)
    }

    fn front(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "matrix://{}/", percent::encode(self.realm.as_str(), keeps_in_realm))?;
        for mount in self.path.mounts() {
            match mount {
                "-" => f.write_str("%2D/")?,
                mount => write!(f, "{}/", percent::encode(mount, keeps_in_path))?,
            }
        }
        Ok(())
    }
}

struct Segmented<'u>(&'u MxUri<'u>);

impl fmt::Display for Segmented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.front(f)?;
        f.write_str("-")?;
        let path = &self.0.path;
        for label in path.component().split('.') {
            write!(f, "/{}", percent::encode(label, keeps_in_path))?;
        }
        let message = percent::encode(path.message(), keeps_in_path);
        write!(f, "/{}/{message}", path.plane())
    }
}

/// RFC 3986 `unreserved` and `sub-delims`.
fn keeps_in_realm(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()+,;=".contains(&byte)
}

/// RFC 3986 `pchar`, without the `*` that no path holds.
fn keeps_in_path(byte: u8) -> bool {
    keeps_in_realm(byte) || matches!(byte, b':' | b'@')
}
