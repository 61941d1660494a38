//! From a byte offset to line and column.

/// A text that is asked for the places of many offsets: each costs a search among the lines and a
/// count within one block, however long the lines are.
pub(super) struct Places<'t> {
    text: &'t [u8],
    /// Where each line begins.
    lines: Vec<usize>,
    /// How many characters begin before each block.
    blocks: Vec<usize>,
}

const BLOCK: usize = 256;

const MARK: &[u8] = "\u{feff}".as_bytes();

impl<'t> Places<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let text = text.as_bytes();
        let ends = memchr::memchr_iter(b'\n', text).map(|newline| newline + 1);
        let mut before = 0;
        let blocks = text.chunks(BLOCK).map(|block| {
            let start = before;
            before += characters(block);
            start
        });
        Self { text, lines: std::iter::once(0).chain(ends).collect(), blocks: blocks.collect() }
    }

    /// Line and column, in characters, both from 1; of the end, where the text is shorter.
    pub(super) fn at(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        let before = self.characters_before(offset) - self.characters_before(start);
        // A byte order mark takes no place.
        let mark = usize::from(line == 1 && before > 0 && self.text.starts_with(MARK));
        (line, before - mark + 1)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        // The end of the text may be the beginning of a block that is not there.
        let Some(before) = self.blocks.get(block) else {
            return self.blocks.last().map_or(0, |before| {
                before + characters(&self.text[(self.blocks.len() - 1) * BLOCK..])
            });
        };
        before + characters(&self.text[block * BLOCK..offset])
    }
}

/// The bytes that begin a character.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_that_of_a_count_from_the_start() {
        for text in [
            "",
            "\n",
            "a\nbé\n\n\u{2028}x",
            &"é\n".repeat(300),
            &"aé".repeat(400),
            &"a".repeat(512),
        ] {
            let places = Places::of(text);
            for offset in (0..=text.len()).filter(|offset| text.is_char_boundary(*offset)) {
                let before = &text[..offset];
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = before.matches('\n').count() + 1;
                let counted = (line, before[start..].chars().count() + 1);
                assert_eq!(places.at(offset), counted, "offset {offset} of {} bytes", text.len());
            }
            assert_eq!(places.at(usize::MAX), places.at(text.len()));
        }
    }
}
