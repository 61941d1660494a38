//! Credentials, tokens and URLs.

use mesh_core::credential::{
    Bootstrap, BrokerUrl, Credential, Document, EnrolmentToken, Fingerprint,
};
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn a_brokers_url_comes_back_as_it_was(url in broker_url()) {
        prop_assert_eq!(url.expose().parse::<BrokerUrl>().unwrap(), url);
    }

    #[test]
    fn a_credential_comes_back_as_it_was(credential in credential()) {
        let document = credential.to_document().unwrap();
        prop_assert_eq!(&Credential::parse(document.expose()).unwrap(), &credential);
        prop_assert!(Bootstrap::parse(document.expose()).is_err());
        prop_assert_eq!(Document::parse(document.expose()).unwrap(), Document::Scoped(credential));
    }

    #[test]
    fn a_bootstrap_url_has_no_principal((url, document) in bootstrap_document()) {
        let bootstrap = Bootstrap::parse(&document).unwrap();
        prop_assert_eq!(bootstrap.url(), &url);
        prop_assert!(Credential::parse(&document).is_err());
    }

    #[test]
    fn an_enrolment_token_comes_back_as_it_was(token in enrolment_token()) {
        let text = token.to_text().unwrap();
        prop_assert_eq!(EnrolmentToken::parse(text.expose()).unwrap(), token);
    }

    #[test]
    fn a_fingerprint_is_the_same_however_it_is_spelt((hash, text) in fingerprint_spelt()) {
        prop_assert_eq!(text.parse::<Fingerprint>().unwrap(), hash);
        prop_assert_eq!(hash.to_string().parse::<Fingerprint>().unwrap(), hash);
    }

    #[test]
    fn no_password_is_shown(credential in credential(), token in enrolment_token()) {
        let logins = [credential.url(), token.url()].map(|url| url.server()?.login());
        let passwords = logins.into_iter().flatten().map(|login| login.password());
        let shown = format!("{credential:?} {token:?} {} {}", credential.url(), token.url());
        // What is shorter might stand there for another reason.
        for secret in passwords.chain([token.secret()]).filter(|secret| secret.expose().len() > 8) {
            prop_assert!(!shown.contains(secret.expose()));
        }
    }
}
