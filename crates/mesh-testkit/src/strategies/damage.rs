use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Bytes that a parser treats in a way of their own.
const TELLING: &[u8] = b"\"\\{}[]:,./%*>#-+0e \n\0\x7f\x80\xc3\xed\xff";

/// One wound.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Put(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
    Repeat(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    let byte = || prop_oneof![3 => select(TELLING), 1 => any::<u8>()];
    prop_oneof![
        3 => (index(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        3 => (index(), byte()).prop_map(|(at, byte)| Damage::Put(at, byte)),
        3 => (index(), byte()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        2 => index().prop_map(Damage::Remove),
        1 => index().prop_map(Damage::Cut),
        1 => (index(), index()).prop_map(|(from, to)| Damage::Repeat(from, to)),
    ]
}

/// The bytes of `whole` with one to four wounds: bits flipped, bytes put over others, put in or
/// taken out, the end cut off, a stretch of it twice.
pub fn mutated_bytes(whole: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (whole, prop::collection::vec(damage(), 1..=4)).prop_map(|(mut bytes, wounds)| {
        for wound in wounds {
            inflict(&mut bytes, &wound);
        }
        bytes
    })
}

fn inflict(bytes: &mut Vec<u8>, wound: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len();
    match wound {
        Damage::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
        Damage::Put(at, byte) => bytes[at.index(length)] = *byte,
        Damage::Insert(at, byte) => bytes.insert(at.index(length + 1), *byte),
        Damage::Remove(at) => drop(bytes.remove(at.index(length))),
        Damage::Cut(at) => bytes.truncate(at.index(length)),
        Damage::Repeat(from, to) => {
            let (from, to) = (from.index(length), to.index(length));
            let stretch = bytes[from.min(to)..from.max(to)].to_vec();
            let at = from.max(to);
            bytes.splice(at..at, stretch);
        }
    }
}
