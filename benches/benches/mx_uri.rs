//! MXURI/1 parsing against `fluent-uri`, a generic RFC 3986 parser that borrows its text.
//!
//! The baseline does less: it finds the components and checks each character's class. It does not
//! split the path, check the realm's grammar, the plane, or what escapes decode to. Ours does all
//! of that and, for a compact URI without escapes, allocates nothing. The goal is ≤ 150 ns where the
//! baseline takes 60–106 ns: a ratio of 1.4.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::hint::black_box;

use fluent_uri::Uri;
use mesh_benches::Comparison;
use mesh_core::mx::MxUri;

const ITEMS: u32 = 20_000;

fn main() {
    let cases = [
        ("uri compact", "matrix://flowpad-demo.tab-01/project/daemon.project.accepts.scan"),
        ("uri compact, no mount", "matrix://acme.com/stock.accepts.count"),
        ("uri segmented", "matrix://flowpad-demo.tab-01/project/-/daemon/project/accepts/scan"),
        ("uri with an escape", "matrix://acme.com/a%2Db/daemon.project.accepts.scan"),
    ];
    for (name, text) in cases {
        assert!(Uri::parse(text).is_ok() && MxUri::parse(text).is_ok());
        let report = Comparison::new(name, ITEMS).run(
            || {
                (0..ITEMS)
                    .filter(|_| Uri::parse(black_box(text)).is_ok_and(|uri| uri.path().len() > 3))
                    .count()
            },
            || {
                (0..ITEMS)
                    .filter(|_| {
                        MxUri::parse(black_box(text)).is_ok_and(|uri| uri.path().as_str().len() > 3)
                    })
                    .count()
            },
        );
        println!("{report}");
    }
}
