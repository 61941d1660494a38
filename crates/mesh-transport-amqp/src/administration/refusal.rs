//! What RabbitMQ says of a queue or exchange that is there with other arguments.

use lapin::types::AMQPValue;

/// An argument that is otherwise than it was declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Otherwise {
    pub(super) argument: String,
    /// As the broker tells it; nothing where it has no such argument.
    pub(super) current: Option<String>,
    /// What the broker calls its type, where it says.
    kind: Option<String>,
}

impl Otherwise {
    /// Reads `… inequivalent arg 'x-max-length' for queue 'q' in vhost '/': received … but current is …`.
    pub(super) fn read(words: &str) -> Option<Self> {
        let (_, rest) = words.split_once("inequivalent arg '")?;
        let (argument, rest) = rest.split_once('\'')?;
        let (_, current) = rest.rsplit_once("but current is ")?;
        let argument = argument.to_owned();
        if current.starts_with("none") {
            return Some(Self { argument, current: None, kind: None });
        }
        let (_, value) = current.split_once('\'')?;
        let (value, kind) = match value.rsplit_once("' of type '") {
            Some((value, kind)) => (value, kind.strip_suffix('\'').map(str::to_owned)),
            None => (value.rsplit_once('\'')?.0, None),
        };
        Some(Self { argument, current: Some(value.to_owned()), kind })
    }

    /// The value that the broker has, to declare with it; `ours` is of the same type where it does not
    /// say.
    pub(super) fn value(&self, ours: Option<&AMQPValue>) -> Option<AMQPValue> {
        let current = self.current.as_deref()?;
        let text = || AMQPValue::LongString(current.into());
        let number = || current.parse().ok().map(AMQPValue::LongLongInt);
        match (self.kind.as_deref(), ours) {
            (Some("longstr"), _) => Some(text()),
            (Some("bool"), _) | (None, Some(AMQPValue::Boolean(_))) => {
                current.parse().ok().map(AMQPValue::Boolean)
            }
            (Some(_), _) => number(),
            (None, Some(AMQPValue::LongString(_))) => Some(text()),
            (None, _) => number().or_else(|| Some(text())),
        }
    }
}

/// A value as a drift shows it.
pub(super) fn shown(value: Option<&AMQPValue>) -> String {
    match value {
        None => "none".to_owned(),
        Some(AMQPValue::LongString(text)) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        Some(AMQPValue::Boolean(value)) => value.to_string(),
        Some(AMQPValue::LongLongInt(value)) => value.to_string(),
        Some(other) => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> (String, Option<String>, Option<AMQPValue>) {
        let found = Otherwise::read(words).unwrap();
        let value = found.value(None);
        (found.argument, found.current, value)
    }

    #[test]
    fn what_a_broker_says_is_read() {
        let told = |rest: &str| format!("PRECONDITION_FAILED - inequivalent arg {rest}");
        let found = read(&told(
            "'x-delivery-limit' for queue 'eq' in vhost '/': received '3' but current is '2'",
        ));
        let two = AMQPValue::LongLongInt(2);
        assert_eq!(found, ("x-delivery-limit".into(), Some("2".into()), Some(two)));
        let found = read(&told(
            "'x-max-length-bytes' for queue 'q' in vhost '/': received the value '100' of type \
             'signedint' but current is none",
        ));
        assert_eq!(found, ("x-max-length-bytes".into(), None, None));
        let found = read(&told(
            "'x-dead-letter-exchange' for queue 'q' in vhost '/': received none but current is \
             the value 'it's' of type 'longstr'",
        ));
        let text = AMQPValue::LongString("it's".into());
        assert_eq!(found, ("x-dead-letter-exchange".into(), Some("it's".into()), Some(text)));
        let found = Otherwise::read(&told(
            "'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'",
        ));
        let found = found.unwrap().value(Some(&AMQPValue::Boolean(true)));
        assert_eq!(found, Some(AMQPValue::Boolean(false)));
    }

    #[test]
    fn another_refusal_is_none_of_these() {
        for words in ["", "RESOURCE_LOCKED - 'q'", "inequivalent arg 'x", "inequivalent arg 'x' y"]
        {
            assert_eq!(Otherwise::read(words), None, "{words}");
        }
    }
}
