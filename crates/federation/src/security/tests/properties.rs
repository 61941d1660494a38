use proptest::prelude::*;

use super::super::token::Token;
use super::*;

const KINDS: [MsgType; 6] =
    [MsgType::Cmd, MsgType::Evt, MsgType::Result, MsgType::Sub, MsgType::Unsub, MsgType::Nack];

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", any::<String>().prop_map(|s| format!("x{s}"))]
}

/// An envelope of `shop` for `acme.com` with any of the fields that a token binds.
fn envelope() -> impl Strategy<Value = Envelope<'static>> {
    let kinds = prop::sample::select(KINDS.to_vec());
    let path = "[a-z]{1,5}\\.accepts\\.[a-z]{1,5}".prop_map(|p| MxPath::new(p).unwrap());
    let party = (any::<bool>(), prop::option::of(path.clone())).prop_map(|(shop, path)| {
        Party::new(MxRealm::new(if shop { "shop" } else { "a" }).unwrap(), path)
    });
    let json = || text().prop_map(|text| RawJson::string(&text));
    let fault = (text(), text(), prop::option::of(json())).prop_map(|(code, message, details)| {
        let mut fault = Fault::new(code, message);
        fault.details = details;
        fault
    });
    (
        (kinds, path.clone(), prop::option::of(path), prop::option::of(party)),
        (text(), prop::option::of(text())),
        (prop::option::of(json()), prop::option::of(json()), prop::option::of(fault)),
    )
        .prop_map(
            |((kind, to, from, reply_to), (id, correlation_id), (principal, body, error))| {
                let to = Address::new(MxRealm::new("acme.com").unwrap(), to);
                let from = Party::new(MxRealm::new("shop").unwrap(), from);
                let mut envelope = Envelope::new(kind, from, to);
                envelope.reply_to = reply_to;
                envelope.msg_id = Some(id.into());
                envelope.correlation_id = correlation_id.map(Into::into);
                envelope.principal = principal;
                envelope.body = body;
                envelope.error = error;
                envelope
            },
        )
}

fn check(envelope: &Envelope<'_>) -> Result<(), Refused> {
    let token = Token::read(envelope.auth.as_ref().unwrap())?;
    token.check(envelope, &realm("acme.com"), NOW, Lifetimes::default())?;
    token.verify(token.key(&jwks(&[&EDDSA]))?)
}

proptest! {
    #[test]
    fn every_envelope_can_be_proven(mut envelope in envelope()) {
        EDDSA.signer.seal(&mut envelope, NOW).unwrap();
        // Texts of a few characters: the token is never too long.
        prop_assert_eq!(check(&envelope), Ok(()));
    }

    #[test]
    fn a_token_proves_its_own_envelope_and_no_other(mut one in envelope(), mut other in envelope()) {
        EDDSA.signer.seal(&mut one, NOW).unwrap();
        other.auth = one.auth.clone();
        let same = other == one;
        prop_assert_eq!(check(&other).is_ok(), same);
    }

    #[test]
    fn no_character_of_a_token_can_be_changed(position in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.-]") {
        let mut envelope = sealed(&EDDSA);
        let mut token = envelope.auth.as_ref().unwrap().as_string().unwrap().into_owned();
        let at = position.index(token.len());
        prop_assume!(token[at..=at] != to);
        token.replace_range(at..=at, &to);
        envelope.auth = Some(RawJson::string(&token));
        prop_assert!(check(&envelope).is_err());
    }

    #[test]
    fn no_text_makes_it_panic(auth in any::<String>()) {
        let mut envelope = command();
        envelope.auth = Some(RawJson::string(&auth));
        prop_assert!(check(&envelope).is_err());
        let _ = Keys::from_jwks(&auth);
    }
}
