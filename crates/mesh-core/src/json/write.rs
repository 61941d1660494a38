use super::{RawJson, string};

/// Writes one object. What goes in is checked or escaped, so what comes out is JSON; that no key
/// comes twice is the caller's to see to.
#[derive(Debug)]
pub(crate) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Writes an object with the members that `members` gives.
    pub(crate) fn write(out: &'o mut Vec<u8>, members: impl FnOnce(&mut Self)) {
        out.push(b'{');
        let mut writer = Self { out, first: true };
        members(&mut writer);
        writer.out.push(b'}');
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        string::write(self.out, value);
    }

    pub(crate) fn raw(&mut self, key: &str, value: &RawJson<'_>) {
        self.key(key);
        self.out.extend_from_slice(value.as_str().as_bytes());
    }

    pub(crate) fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = value;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[start..]);
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) {
        self.key(key);
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(word);
    }

    pub(crate) fn object(&mut self, key: &str, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        self.key(key);
        ObjectWriter::write(self.out, members);
    }

    pub(crate) fn opt_string(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    pub(crate) fn opt_raw(&mut self, key: &str, value: Option<&RawJson<'_>>) {
        if let Some(value) = value {
            self.raw(key, value);
        }
    }

    pub(crate) fn opt_number(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(key, value);
        }
    }

    fn key(&mut self, key: &str) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        string::write(self.out, key);
        self.out.push(b':');
    }
}
