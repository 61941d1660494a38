//! Whether the client library can read what came, without harm.
//!
//! The broker passes on what a publisher wrote as it is: text that is no UTF-8 ends a connection, and values
//! that are nested a thousand times overflow the stack of the client's thread, which ends the process.

/// How deep values may be nested. What the broker writes itself (`x-death`) takes four.
const DEPTH: u32 = 16;

/// What stands in the place of a byte that is no text. No key may have it.
const NO_TEXT: u8 = 0x1f;

/// Makes the payload of a method frame legible: the words of `basic.deliver`, which a publisher chose.
pub(super) fn method(payload: &mut [u8]) {
    const DELIVER: [u8; 4] = [0, 60, 0, 60];
    let Some(words) = payload.strip_prefix(&DELIVER) else { return };
    let mut rest = Bytes(words);
    let mut texts = Vec::new();
    let mut at = DELIVER.len();
    // The consumer's name; the tag and whether it came before; the exchange, and the key.
    for gap in [0, 9, 0] {
        let before = rest.0.len();
        if rest.take(gap).is_none() {
            return;
        }
        let Some(text) = rest.short() else { return };
        let end = at + before - rest.0.len();
        if std::str::from_utf8(text).is_err() {
            texts.push(end - text.len()..end);
        }
        at = end;
    }
    for text in texts {
        for byte in &mut payload[text] {
            if !byte.is_ascii() {
                *byte = NO_TEXT;
            }
        }
    }
}

/// Makes the payload of a header frame legible: one that is not loses all that it says but the size of the
/// body, its sender above all.
pub(super) fn header(payload: &mut [u8]) {
    // Class, weight, and the size of the body.
    let Some((_, properties)) = payload.split_at_mut_checked(12) else { return };
    if !is_legible(properties) {
        blank(properties);
    }
}

/// The correlation id that the payload of a header frame says.
pub(super) fn correlation_id(payload: &[u8]) -> Option<&[u8]> {
    Bytes(payload.get(12..)?).properties()?
}

/// Properties of the same length that say nothing.
fn blank(properties: &mut [u8]) {
    const CONTENT_TYPE: [u8; 2] = [0x80, 0];
    const HEADERS: [u8; 2] = [0x20, 0];
    let Some((flags, rest)) = properties.split_at_mut_checked(2) else { return };
    rest.fill(b' ');
    match (rest.len(), u8::try_from(rest.len().saturating_sub(1))) {
        (0, _) => flags.fill(0),
        (_, Ok(length)) => {
            flags.copy_from_slice(&CONTENT_TYPE);
            rest[0] = length;
        }
        // A table, with one text under a name of one letter.
        (all, Err(_)) => {
            flags.copy_from_slice(&HEADERS);
            put(&mut rest[..4], all - 4);
            rest[4..7].copy_from_slice(&[1, b'-', b'S']);
            put(&mut rest[7..11], all - 11);
        }
    }
}

fn put(place: &mut [u8], length: usize) {
    place.copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn is_legible(properties: &[u8]) -> bool {
    let mut rest = Bytes(properties);
    rest.properties().is_some() && rest.0.is_empty()
}

/// What is left to be read. Nothing is given for what can't be.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(length.into())
    }

    fn long(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_be_bytes(self.take(4)?.try_into().ok()?);
        self.take(usize::try_from(length).ok()?)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        self.short().filter(|text| std::str::from_utf8(text).is_ok())
    }

    /// Goes through all of them; the answer is the correlation id.
    fn properties(&mut self) -> Option<Option<&'a [u8]>> {
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        // More flags would follow, and there are no more properties.
        if flags & 0b11 != 0 {
            return None;
        }
        let mut correlation_id = None;
        for bit in (2..16).rev().filter(|bit| flags & (1 << bit) != 0) {
            match bit {
                13 => Bytes(self.long()?).table(0)?,
                12 | 11 => self.take(1).map(drop)?,
                6 => self.take(8).map(drop)?,
                10 => correlation_id = Some(self.text()?),
                _ => drop(self.text()?),
            }
        }
        Some(correlation_id)
    }

    fn table(&mut self, depth: u32) -> Option<()> {
        while !self.0.is_empty() {
            self.text()?;
            self.value(depth)?;
        }
        Some(())
    }

    fn array(&mut self, depth: u32) -> Option<()> {
        while !self.0.is_empty() {
            self.value(depth)?;
        }
        Some(())
    }

    fn value(&mut self, depth: u32) -> Option<()> {
        match self.byte()? {
            b'V' => {}
            b't' | b'b' | b'B' => drop(self.take(1)?),
            b's' | b'U' | b'u' => drop(self.take(2)?),
            b'I' | b'i' | b'f' => drop(self.take(4)?),
            b'D' => drop(self.take(5)?),
            b'L' | b'l' | b'd' | b'T' => drop(self.take(8)?),
            b'S' | b'x' => drop(self.long()?),
            b'A' if depth < DEPTH => Bytes(self.long()?).array(depth + 1)?,
            b'F' if depth < DEPTH => Bytes(self.long()?).table(depth + 1)?,
            _ => return None,
        }
        Some(())
    }
}
