mod answers;
mod forged;
mod guard;
mod keys;
mod properties;
mod rotation;
mod signer;

use std::sync::LazyLock;

use mesh_core::json::RawJson;
use mesh_core::mx::{Address, Envelope, Fault, MsgType, MxPath, MxRealm, Party};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::Sign as _;

/// 2026-01-01, as the manual clock begins.
const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const NOW_SECONDS: u64 = 1_767_225_600;

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

/// A key of the realm `shop`.
struct Owner {
    signer: Signer,
    jwk: String,
    kid: String,
}

fn owner(algorithm: Algorithm) -> Owner {
    let made = generate(algorithm).unwrap();
    let signer = match algorithm {
        Algorithm::EdDsa => Signer::eddsa_pem(realm("shop"), made.kid(), made.pem()),
        Algorithm::Es256 => Signer::es256_pem(realm("shop"), made.kid(), made.pem()),
    };
    Owner { signer: signer.unwrap(), jwk: made.jwk().to_owned(), kid: made.kid().to_owned() }
}

static EDDSA: LazyLock<Owner> = LazyLock::new(|| owner(Algorithm::EdDsa));
static ES256: LazyLock<Owner> = LazyLock::new(|| owner(Algorithm::Es256));

fn jwks(owners: &[&Owner]) -> Keys {
    let keys: Vec<_> = owners.iter().map(|owner| owner.jwk.as_str()).collect();
    Keys::from_jwks(&format!(r#"{{"keys":[{}]}}"#, keys.join(","))).unwrap()
}

/// The guard of `acme.com`, which knows both keys of `shop`.
fn guard() -> MxSec {
    let keys = StaticKeys::new().with(realm("shop"), jwks(&[&EDDSA, &ES256]));
    MxSec::new(realm("acme.com"), keys)
}

/// A command with every field that a token binds but an error.
fn command() -> Envelope<'static> {
    let path = |text: &'static str| MxPath::new(text).unwrap();
    let shop = || MxRealm::new("shop").unwrap();
    let to = Address::new(MxRealm::new("acme.com").unwrap(), path("mail.accepts.send"));
    let from = Party::new(shop(), Some(path("till.accepts.open")));
    let mut envelope = Envelope::new(MsgType::Cmd, from, to);
    envelope.reply_to = Some(Party::new(shop(), Some(path("till.accepts.done"))));
    envelope.msg_id = Some("m-1".into());
    envelope.correlation_id = Some("c-1".into());
    envelope.principal = Some(RawJson::new(r#"{"iss":"https://id","sub":"ada"}"#).unwrap());
    envelope.body = Some(RawJson::new(r#"{"big": 1e400, "a": 1}"#).unwrap());
    envelope
}

fn refusal() -> Envelope<'static> {
    let mut envelope = command();
    envelope.kind = MsgType::Nack;
    envelope.body = None;
    envelope.error = Some(Fault::new("MX.X", "no"));
    envelope
}

fn sealed(owner: &Owner) -> Envelope<'static> {
    let mut envelope = command();
    owner.signer.seal(&mut envelope, NOW).unwrap();
    envelope
}

/// What the signer would write, to be changed.
fn honest(owner: &Owner) -> (Value, Value) {
    let token = owner.signer.token(&command(), NOW).unwrap();
    let token = token.as_string().unwrap();
    let mut parts = token.split('.').map(|part| {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap()
    });
    let mut part = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
    (part(), part())
}

/// The command with a token of this header and these claims, signed by `owner` whatever they say.
fn with_token(owner: &Owner, header: &Value, claims: &Value) -> Envelope<'static> {
    let mut envelope = command();
    let token = owner.signer.compact(header, claims).unwrap();
    envelope.auth = Some(RawJson::string(&token));
    envelope
}

async fn verdict(envelope: &Envelope<'_>) -> Result<(), Refused> {
    guard().prove(envelope, NOW).await
}

#[tokio::test]
async fn both_algorithms_prove_a_command_and_a_refusal() {
    for owner in [&*EDDSA, &*ES256] {
        assert_eq!(verdict(&sealed(owner)).await, Ok(()));
        let mut nack = refusal();
        owner.signer.seal(&mut nack, NOW).unwrap();
        assert_eq!(verdict(&nack).await, Ok(()));
    }
}

#[tokio::test]
async fn what_was_sealed_still_proves_after_it_was_written_and_read() {
    let bytes = sealed(&EDDSA).encode().unwrap();
    let read = mesh_core::mx::decode(&bytes, 1 << 20).unwrap();
    let mesh_core::mx::Decoded::MxEnv(read) = read else { panic!("not MXENV/1") };
    assert_eq!(verdict(&read).await, Ok(()));

    let bytes = command().encode().unwrap();
    let bytes = EDDSA.signer.sign_encoded(&bytes, NOW).unwrap();
    let read = mesh_core::mx::decode(&bytes, 1 << 20).unwrap();
    let mesh_core::mx::Decoded::MxEnv(read) = read else { panic!("not MXENV/1") };
    assert_eq!(verdict(&read).await, Ok(()));
}

#[tokio::test]
async fn routers_may_count_hops_and_tracers_may_trace() {
    let mut envelope = sealed(&EDDSA);
    envelope.ttl = Some(3);
    envelope.trace_id = Some("t-1".into());
    envelope.timestamp = Some(5);
    assert_eq!(verdict(&envelope).await, Ok(()));
}

#[test]
fn a_token_has_the_claims_that_the_protocol_writes_down() {
    let (header, claims) = honest(&EDDSA);
    assert_eq!(header, json!({"alg": "EdDSA", "typ": "mx+jwt", "kid": EDDSA.kid}));
    assert_eq!(
        claims,
        json!({
            "iss": "shop",
            "aud": "acme.com",
            "jti": "m-1",
            "iat": NOW_SECONDS,
            "exp": NOW_SECONDS + 60,
            "mx": {
                "type": "Cmd",
                "to": "mail.accepts.send",
                "from": "till.accepts.open",
                "replyTo": "shop/till.accepts.done",
                "correlationId": "c-1",
                // printf '%s' '{"iss":"https://id","sub":"ada"}' | sha256sum, and so on.
                "principal": "4jO5JeotS3aD0cTYQSdGhn4wKxgxJkPEbbO-8dTL6Es",
                "body": "a1s2Otsr4xBgZpBeVEpe7OAsix4Z89T8ZYcbbd_eNvo",
            },
        })
    );
}

#[test]
fn the_hash_of_an_error_is_over_the_hashes_of_its_parts() {
    let nack = refusal();
    let token = EDDSA.signer.token(&nack, NOW).unwrap();
    use base64::Engine as _;
    let text = token.as_string().unwrap();
    let payload = text.split('.').nth(1).unwrap();
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    let claims: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(claims["mx"]["error"], "1stHcVp_odpgs88KDW1xhwDucmK8szRJVbObtWEPbUM");
    assert_eq!(claims["mx"].get("body"), None);
}
