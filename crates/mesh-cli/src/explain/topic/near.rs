//! Of a text that is nothing: the shape that is nearest to it, and where it departs from that.

use mesh_core::subject::Subject;
use mesh_core::topology::MeshSubject;

use crate::explain::{Fault, Place};

/// The shapes that are no subjects of [`MeshSubject`].
const OTHERS: [&str; 11] = [
    "mesh.deliver.<stream>.<consumer>",
    "_INBOX.<principal>.<node or name>.<responder>.<32 hex digits>",
    "_INBOX.<principal>.<node or name>.ack.<32 hex digits>",
    "_INBOX.<principal>.<node or name>.echo.<32 hex digits>",
    "$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.<consumer sequence>.<time>.<pending>",
    "$JS.EVENT.ADVISORY.CONSUMER.<kind>.<stream>.<consumer>",
    "public.ingress.<mxesc1(realm)>",
    "mx/in/1/<realm>/<shard>",
    "mx/1/<realm>/<path>",
    "mx/1/<realm>/_reply.<32 hex digits>",
    "mx/route/1/<realm>/<shard>",
];

/// The first tokens by which the mesh knows its own.
const RULE: &str = "the mesh's subjects begin with mesh, those of its brokers with $JS or _INBOX, and topics between realms with mx/ or public.ingress (protocol §2, §4, §8)";

/// What parts tokens, in either grammar.
const PARTS: [char; 2] = ['.', '/'];

struct Near {
    shape: &'static str,
    score: f64,
}

/// Why a text is nothing of the mesh's.
pub(super) fn unknown(text: &str) -> Box<Fault> {
    let near = nearest(text).or_else(|| nearest(&text.to_ascii_lowercase()));
    let Some(Near { shape, .. }) = near else {
        let place = Place::of(text.as_bytes(), 0);
        let fault = Fault::new("unknown", "like nothing of the mesh's", place, RULE);
        return Box::new(
            fault
                .hint("if it is a routing key, name its exchange, such as `--exchange mesh.alive`"),
        );
    };
    departs(text, shape)
}

/// Where a text departs from a shape, and what to write instead.
pub(super) fn departs(text: &str, shape: &'static str) -> Box<Fault> {
    let wanted: Vec<&str> = shape.split(PARTS).collect();
    let mut found = 0;
    let (mut offset, mut what) = (text.len(), None);
    for (index, token) in text.split(PARTS).enumerate() {
        let at = offset_of(text, token);
        match wanted.get(index) {
            None if !is_long(wanted.last().copied().unwrap_or_default()) => {
                (offset, what) = (at, Some("this is too much".to_owned()));
                break;
            }
            Some(literal) if !is_name(literal) && *literal != token => {
                (offset, what) = (at, Some(format!("{literal} stands here")));
                break;
            }
            _ => found = index + 1,
        }
    }
    let missing = wanted.get(found..).and_then(|rest| rest.first());
    let what = what.unwrap_or_else(|| match missing {
        Some(missing) => format!("{missing} is missing"),
        None => "something in it is not what it should be".to_owned(),
    });
    let place = Place::of(text.as_bytes(), offset);
    let mut fault = Fault::new("shape", what, place, RULE).hint(format!("nearest is {shape}"));
    fault.instead = mended(text, &wanted).into_iter().collect();
    Box::new(fault)
}

/// Of what a manifest has, the name that is much like one it does not have: as an end of a note.
pub(super) fn meant<T: ToString>(name: &str, known: impl IntoIterator<Item = T>) -> String {
    let known = known.into_iter().map(|known| known.to_string());
    let distance = |known: &str| strsim::damerau_levenshtein(known, name);
    let nearest = known.map(|known| (distance(&known), known)).min();
    match nearest.filter(|(distance, known)| *distance <= 2.min(known.len() / 3)) {
        Some((_, known)) => format!(" (did you mean {known}?)"),
        None => String::new(),
    }
}

/// A subject of the mesh's that is very near to a text that could be something else.
pub(super) fn likely(text: &str) -> Option<String> {
    let Near { shape, score } = nearest(text)?;
    let wanted: Vec<&str> = shape.split(PARTS).collect();
    mended(text, &wanted).filter(|_| score > 0.8)
}

/// The shape that a text is most like, if it is like any.
fn nearest(text: &str) -> Option<Near> {
    let tokens: Vec<&str> = text.split(PARTS).take(16).collect();
    let shapes = MeshSubject::SHAPES.into_iter().chain(OTHERS);
    let near = shapes.map(|shape| Near { shape, score: score(&tokens, shape) });
    // The first of those that are equally near.
    let best = near.fold(None, |best: Option<Near>, near| match best {
        Some(best) if best.score >= near.score => Some(best),
        _ => Some(near),
    })?;
    (best.score > 0.6).then_some(best)
}

/// How like a shape the tokens are, 0 to 1: by the words that the shape asks for, and the number.
fn score(tokens: &[&str], shape: &str) -> f64 {
    let wanted: Vec<&str> = shape.split(PARTS).collect();
    let (mut likeness, mut literals) = (0.0, 0.0);
    for (index, literal) in wanted.iter().enumerate().filter(|(_, wanted)| !is_name(wanted)) {
        literals += 1.0;
        if let Some(token) = tokens.get(index) {
            likeness += strsim::normalized_damerau_levenshtein(token, literal);
        }
    }
    let more = tokens.len() > wanted.len() && is_long(wanted.last().copied().unwrap_or_default());
    let apart = if more { 0 } else { tokens.len().abs_diff(wanted.len()) };
    likeness / literals - 0.05 * f64::from(u8::try_from(apart).unwrap_or(u8::MAX))
}

/// The text with the words that the shape asks for, if that is something then.
fn mended(text: &str, wanted: &[&str]) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    for index in 0.. {
        let end = rest.find(PARTS).unwrap_or(rest.len());
        let (token, behind) = rest.split_at_checked(end)?;
        let literal = wanted.get(index).filter(|wanted| !is_name(wanted));
        mended.push_str(literal.copied().unwrap_or(token));
        let Some(part) = behind.chars().next() else { break };
        mended.push(part);
        rest = behind.get(part.len_utf8()..)?;
    }
    if mended == text {
        return None;
    }
    let subject = Subject::new(mended.as_str()).ok()?;
    super::of_subject(&subject, None)?.is_ok().then_some(mended)
}

fn is_name(wanted: &str) -> bool {
    wanted.contains('<')
}

/// Whether it stands for any number of tokens.
fn is_long(wanted: &str) -> bool {
    matches!(wanted, "<event>" | "<path>" | "<mxesc1(realm)>")
}

/// Where a token that was cut from `text` begins.
fn offset_of(text: &str, token: &str) -> usize {
    token.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}
