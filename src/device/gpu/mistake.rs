//! Finds the line of a user's own WGSL that keeps a stage from compiling.
//!
//! Stages are put together from pieces, and drivers count the lines of the whole. The line a user can mend is one of the likelihood, which is
//! the last piece of the stages that have one.

use super::stage::Spec;
use crate::error::Error;
use std::error::Error as _;
use std::ops::Range;
use wgpu::naga::front::wgsl;
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

/// Stages whose last piece is a likelihood.
const MEETING: [&str; 3] = ["twin", "sites", "series"];
/// What the stages call.
const SIGNATURE: &str = "fn site(datum: vec2f, eta: vec2f) -> vec3f that compiles";

/// What a compiler says, and where, in bytes of the source: a function, and the expression in it that is wrong.
struct Complaint {
    message: String,
    places: Vec<Range<usize>>,
}

/// What is wrong with the likelihood of a stage; none if it has no likelihood, or nothing is wrong with it.
pub(super) fn mistake(spec: &Spec) -> Option<Error> {
    let site = spec.parts.last().filter(|_| MEETING.contains(&spec.name))?;
    let source = spec.source();
    let Complaint { message, places } = complaint(&source)?;
    let begin = source.len().checked_sub(site.len() + 1)?;
    let remedy = "mend Likelihood::twin, or use the CPU";
    let own = places.iter().filter(|place| place.start >= begin);
    let Some(place) = own.min_by_key(|place| place.len()).map(|place| place.start - begin) else {
        return Some(Error::input("WGSL twin", SIGNATURE, message, remedy));
    };
    let before = site.get(..place).unwrap_or(site);
    let number = before.matches('\n').count();
    let line = site.lines().nth(number).unwrap_or_default().trim();
    let got = format!("{message} in `{line}`");
    Some(Error::input(format!("WGSL twin, line {}", number + 1), SIGNATURE, got, remedy))
}

/// The first complaint about a source, in one line.
fn complaint(source: &str) -> Option<Complaint> {
    let module = match wgsl::parse_str(source) {
        Ok(module) => module,
        Err(error) => {
            let places = error.labels().filter_map(|(span, _)| span.to_range()).collect();
            return Some(Complaint { message: one_line(error.message()), places });
        }
    };
    let error =
        Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).err()?;
    let places = error.spans().filter_map(|(span, _)| span.to_range()).collect();
    // What it is about stands in the last of its causes.
    let mut messages = vec![error.as_inner().to_string()];
    let mut cause = error.as_inner().source();
    while let Some(inner) = cause {
        messages.push(inner.to_string());
        cause = inner.source();
    }
    Some(Complaint { message: one_line(&messages.join(": ")), places })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::twin;
    use super::*;

    fn said(wgsl: &'static str) -> Option<String> {
        mistake(&twin::spec(wgsl.into(), 3, 0)).map(|error| error.to_string())
    }

    #[test]
    fn a_mistake_is_shown_with_the_users_own_line() {
        let good = "fn site(datum: vec2f, eta: vec2f) -> vec3f {\n    return vec3f(0.0);\n}\n";
        assert_eq!(said(good), None);
        let unknown = "// mine\nfn site(datum: vec2f, eta: vec2f) -> vec3f {\n    let a = expp(eta.x);\n    return vec3f(a);\n}";
        let message = said(unknown).unwrap();
        assert!(
            message.contains("line 3") && message.contains("`let a = expp(eta.x);`"),
            "{message}"
        );
        let unended = "fn site(datum: vec2f, eta: vec2f) -> vec3f {\n    return vec3f(0.0)\n}";
        let message = said(unended).unwrap();
        assert!(message.contains("line 3") && message.contains("`}`"), "{message}");
        // Found by the validator, not by the parser.
        let mistyped = "fn site(datum: vec2f, eta: vec2f) -> vec3f {\n    return 2.0 * eta;\n}";
        let message = said(mistyped).unwrap();
        assert!(message.contains("line 2") && message.contains("`return 2.0 * eta;`"), "{message}");
        // A name that another piece has.
        let taken = "fn helper() -> f32 { return 1.0; }\nfn two_sum(a: f32) -> f32 { return a; }\n\
                     fn site(datum: vec2f, eta: vec2f) -> vec3f { return vec3f(0.0); }";
        let message = said(taken).unwrap();
        assert!(message.contains("line 2") && message.contains("two_sum"), "{message}");
    }

    #[test]
    fn a_likelihood_that_is_not_what_stages_call_is_told_so() {
        for other in ["fn sites() {}", "fn site(eta: f32) -> f32 { return eta; }", ""] {
            let message = said(other).unwrap();
            assert!(message.contains("fn site(datum: vec2f, eta: vec2f) -> vec3f"), "{message}");
            assert!(!message.contains('\n'));
        }
    }
}
