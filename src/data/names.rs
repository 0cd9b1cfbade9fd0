//! Shows values and column names in messages, and guesses which column was meant.

/// The longest piece of a file that is repeated in a message.
const SHOWN: usize = 40;

/// The most column names that are listed in a message.
const LISTED: usize = 12;

/// Quotes a value on one line, shortened, with control characters escaped.
pub(crate) fn shown(value: &str) -> String {
    let mut text: String = value.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if value.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    format!("`{text}`")
}

/// A name as it is typed on a command line, in quotes if it has to be.
pub(super) fn argument(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.escape_debug()),
    }
}

/// Lists names for a message, the first few if there are many.
pub(super) fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}

/// The name that was probably meant by `wanted`, if any is near enough.
pub(super) fn closest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let lower = wanted.to_lowercase();
    // One slip in three letters; a one-letter name is only ever mistaken for its capital.
    let allowed = wanted.chars().count() / 3;
    names
        .iter()
        .filter(|name| name.len() <= 4 * (wanted.len() + 1))
        .map(|name| (distance(&lower, &name.to_lowercase()), name.as_str()))
        .filter(|&(slips, _)| slips <= allowed)
        .min_by_key(|&(slips, _)| slips)
        .map(|(_, name)| name)
}

/// Levenshtein distance: the fewest insertions, deletions and substitutions from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_the_textbook_ones() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("flaw", "lawn"), 2);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names: Vec<String> = ["i", "Y", "exposures", "group"].map(String::from).to_vec();
        assert_eq!(closest("y", &names), Some("Y"));
        assert_eq!(closest("exposure", &names), Some("exposures"));
        assert_eq!(closest("gruop", &names), None);
        assert_eq!(closest("groups", &names), Some("group"));
        assert_eq!(closest("x", &names), None);
    }

    #[test]
    fn arguments_are_quoted_when_needed() {
        assert_eq!(argument("size_2.5"), "size_2.5");
        assert_eq!(argument("body mass"), "'body mass'");
    }

    #[test]
    fn what_is_shown_is_short_and_on_one_line() {
        assert_eq!(shown("a\nb"), "`a\\nb`");
        assert_eq!(shown(&"x".repeat(50)), format!("`{}…`", "x".repeat(40)));
        let many: Vec<String> = (0..14).map(|k| k.to_string()).collect();
        assert!(listed(&many).ends_with("`11` and 2 more"));
    }
}
