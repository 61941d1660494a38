//! What must not compile, and what its author is told. The texts beside the cases are those of the
//! toolchain that CI has; `TRYBUILD=overwrite cargo test -p mesh-refused` writes them anew.

#[test]
fn what_there_is_no_right_to_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/cases/*.rs");
}
