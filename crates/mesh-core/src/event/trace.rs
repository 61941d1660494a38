//! What a message carries of a trace, and what of it may be passed on.

use std::num::NonZeroU64;

use super::headers::{BAGGAGE, Headers, TRACEPARENT, TRACESTATE};
use super::{TraceParent, value};

/// The W3C trace context that a message carries, as text. What came is kept as it came, whatever it is:
/// a broken trace is no reason to refuse an event. What is passed on is [`accepted`](Self::accepted).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// `traceparent`.
    pub traceparent: Option<String>,
    /// `tracestate`; several headers are joined with `,`.
    pub tracestate: Option<String>,
    /// `baggage`; several headers are joined with `,`.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// The most bytes of a `tracestate` that is passed on, with at most 32 members.
    pub const MAX_STATE_BYTES: usize = 512;
    /// The most bytes of a `baggage` that is passed on, with at most 64 members.
    pub const MAX_BAGGAGE_BYTES: usize = 8192;

    /// Reads it from the headers of any message. A header counts in lower case first, else in any case. A
    /// `traceparent` that is there twice with different values is lost, and so is a value that would end
    /// its line.
    #[must_use]
    pub fn read<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::of(&Headers(headers.into_iter().collect()))
    }

    pub(super) fn of(headers: &Headers<'_>) -> Self {
        let one_line = |text: &String| value::line_break(text).is_none();
        Self {
            // W3C: with two that differ the trace is lost, not the message.
            traceparent: headers.one(TRACEPARENT).unwrap_or(None).map(Into::into).filter(one_line),
            tracestate: headers.joined(TRACESTATE).filter(one_line),
            baggage: headers.joined(BAGGAGE).filter(one_line),
        }
    }

    /// The trace and the span that it came from, where `traceparent` is one.
    #[must_use]
    pub fn parent(&self) -> Option<TraceParent> {
        self.traceparent.as_deref()?.parse().ok()
    }

    /// What of it W3C lets pass: a `traceparent` of this or a later version, the `tracestate` that
    /// belongs to it, and the `baggage`, each whole or not at all.
    #[must_use]
    pub fn accepted(self) -> Self {
        let parent = self.parent();
        let state = self.tracestate.filter(|state| parent.is_some() && is_state(state));
        let baggage = self.baggage.filter(|baggage| is_baggage(baggage));
        let trim = |text: String| trimmed(&text).to_owned();
        Self {
            traceparent: parent.map(|parent| parent.to_string()),
            tracestate: state.map(trim),
            baggage: baggage.map(trim),
        }
    }

    /// What another span of the same trace sends on: with an id of its own, all else the same.
    #[must_use]
    pub fn child(&self, span: NonZeroU64) -> Self {
        let parent = self.parent().map(|parent| parent.child(span).to_string());
        Self { traceparent: parent, ..self.clone() }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers().next().is_none()
    }

    /// Names and values, as headers.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            (TRACEPARENT, &self.traceparent),
            (TRACESTATE, &self.tracestate),
            (BAGGAGE, &self.baggage),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// Members of the form `key=value`. An empty one is allowed.
fn is_state(state: &str) -> bool {
    let key =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let sound = |member: &str| {
        let Some((name, value)) = member.split_once('=') else {
            return false;
        };
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        starts
            && name.len() <= 256
            && name.bytes().all(key)
            && (1..=256).contains(&value.len())
            && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
    };
    are_members(state, TraceContext::MAX_STATE_BYTES, 32, sound)
}

/// Members of the form `name=value`, each with properties after `;` or without.
fn is_baggage(baggage: &str) -> bool {
    let sound = |member: &str| {
        let mut parts = member.split(';');
        let pair = parts.next().and_then(|first| first.split_once('='));
        pair.is_some_and(|(name, value)| is_token(trimmed(name)) && are_octets(trimmed(value)))
            && parts.all(|property| match property.split_once('=') {
                None => is_token(trimmed(property)),
                Some((name, value)) => is_token(trimmed(name)) && are_octets(trimmed(value)),
            })
    };
    are_members(baggage, TraceContext::MAX_BAGGAGE_BYTES, 64, sound)
}

fn are_members(text: &str, bytes: usize, most: usize, sound: impl Fn(&str) -> bool) -> bool {
    let members = || text.split(',').map(trimmed).filter(|member| !member.is_empty());
    text.len() <= bytes && (1..=most).contains(&members().count()) && members().all(sound)
}

/// Without spaces and tabs around it.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// A token of HTTP.
fn is_token(text: &str) -> bool {
    let mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || mark(byte))
}

/// What a value of the baggage may have: visible ASCII but for `"`, `,`, `;` and `\`.
fn are_octets(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TraceParentError;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn context(parent: &str, state: &str, baggage: &str) -> TraceContext {
        TraceContext {
            traceparent: Some(parent.into()),
            tracestate: Some(state.into()),
            baggage: Some(baggage.into()),
        }
    }

    #[test]
    fn a_parent_is_read_strictly() {
        let read = |text: &str| text.parse::<TraceParent>();
        let parent = read(PARENT).unwrap();
        assert_eq!(parent.trace_id().get(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(parent.span_id().get(), 0x00f0_67aa_0ba9_02b7);
        assert!(parent.is_sampled());
        assert_eq!(parent.to_string(), PARENT);
        let zeros = PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        assert_eq!(read(&zeros), Err(TraceParentError::Zero { offset: 3 }));
        let zeros = PARENT.replace("00f067aa0ba902b7", &"0".repeat(16));
        assert_eq!(read(&zeros), Err(TraceParentError::Zero { offset: 36 }));
        for (text, offset) in [
            (PARENT.replace("4bf", "4Bf"), 4),
            (PARENT.replace("36-", "36 "), 35),
            (PARENT.replace("00-4", "0x-4"), 1),
            (format!("01{}x", &PARENT[2..]), 55),
        ] {
            assert_eq!(read(&text), Err(TraceParentError::Character { offset }), "{text}");
        }
        assert_eq!(read(&PARENT.replace("00-4", "ff-4")), Err(TraceParentError::Version));
        for text in ["", &PARENT[..54], &format!("{PARENT}-x"), &format!("cc{}", "-".repeat(300))] {
            assert_eq!(read(text), Err(TraceParentError::Length { found: text.len() }));
        }
        assert!(read(&"é".repeat(30)).is_err());
    }

    #[test]
    fn a_later_version_is_passed_on_as_this_one() {
        let later: TraceParent = format!("cc{}-what-else", &PARENT[2..]).parse().unwrap();
        assert_eq!(later.to_string(), PARENT);
        let flags: TraceParent = PARENT.replace("-01", "-ff").parse().unwrap();
        assert_eq!(flags.flags(), 3, "only those that have a meaning");
        let flags: TraceParent = PARENT.replace("-01", "-00").parse().unwrap();
        assert!(!flags.is_sampled());
    }

    #[test]
    fn what_is_sound_is_passed_on_byte_for_byte() {
        let state = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE , 1t@vendor=a b";
        let baggage = "user%20id = caf%C3%A9;a;b = 1 ,\tk=v=w,k2=";
        let came = context(PARENT, state, baggage);
        assert_eq!(came.clone().accepted(), came);
        let child = came.child(NonZeroU64::MAX);
        assert_eq!((&child.tracestate, &child.baggage), (&came.tracestate, &came.baggage));
        assert_eq!(child.parent().unwrap().trace_id(), came.parent().unwrap().trace_id());
        assert_eq!(child.parent().unwrap().span_id(), NonZeroU64::MAX);
    }

    #[test]
    fn what_is_not_sound_is_left_out() {
        let long = |bytes: usize| format!("k={}", "v".repeat(bytes - 2));
        let many = |count| vec!["k=v"; count].join(",");
        for state in ["", ",", "k", "=v", "K=v", "k=", "k=é", "k=a=b", &long(513), &many(33)] {
            assert_eq!(context(PARENT, state, "k=v").accepted().tracestate, None, "{state}");
        }
        for baggage in
            ["", "k", "=v", "k=\"v\"", "a b=c", "k=v;", "k=v;p=\\", "k=é", &long(8193), &many(65)]
        {
            assert_eq!(context(PARENT, "k=v", baggage).accepted().baggage, None, "{baggage}");
        }
        assert!(context(PARENT, &many(32), &long(8192)).accepted().baggage.is_some());
        let lost = context("00-x", "k=v", "k=v").accepted();
        assert_eq!((lost.traceparent, lost.tracestate), (None, None), "a state is its parent's");
        assert_eq!(lost.baggage.as_deref(), Some("k=v"), "baggage is nobody's");
    }

    #[test]
    fn what_would_end_a_line_is_lost_and_lower_case_counts_first() {
        let read = TraceContext::read([
            ("Traceparent", "other"),
            ("traceparent", PARENT),
            ("TRACESTATE", "a=1"),
            ("Tracestate", "b=2"),
            ("baggage", "a\r\nx-source: root"),
        ]);
        assert_eq!(read.traceparent.as_deref(), Some(PARENT));
        assert_eq!(read.tracestate.as_deref(), Some("a=1,b=2"));
        assert_eq!(read.baggage, None);
        assert!(TraceContext::read([("traceparent", "a"), ("traceparent", "b")]).is_empty());
    }
}
