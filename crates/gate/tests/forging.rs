//! What cannot be written down: every file in `forging/` has to fail to compile.
#![allow(missing_docs)]

#[test]
fn nothing_outside_the_gate_can_make_a_tool_run() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/forging/*.rs");
}
