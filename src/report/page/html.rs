//! Puts text and pictures into HTML.

use std::fmt::Write;

/// Text with the characters that HTML reads as markup escaped.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A picture inside the page.
pub(super) fn picture(png: &[u8], title: &str) -> String {
    let title = escape(title);
    format!(
        "<figure><img alt=\"{title}\" src=\"data:image/png;base64,{}\"></figure>\n",
        base64(png)
    )
}

/// A drawing inside the page with a line below it.
pub(super) fn drawing(svg: &str, caption: &str) -> String {
    let caption = match caption {
        "" => String::new(),
        text => format!("<figcaption>{}</figcaption>", escape(text)),
    };
    format!("<figure>{svg}{caption}</figure>\n")
}

/// A table with a heading; cells are escaped.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    heading.iter().for_each(|cell| out += &format!("<th>{}</th>", escape(cell)));
    out += "</tr></thead><tbody>\n";
    for row in rows {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = writeln!(out, "<tr>{cells}</tr>");
    }
    out + "</tbody></table></div>\n"
}

/// A section with its heading.
pub(super) fn section(heading: &str, body: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{body}</section>\n", escape(heading))
}

/// Bytes in base 64 (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(4 * bytes.len().div_ceil(3));
    for chunk in bytes.chunks(3) {
        let byte = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        for (plain, code) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), code);
        }
    }

    #[test]
    fn markup_in_text_is_harmless() {
        let html = table(&["a"], &[vec!["<script>&\"".into()]]);
        assert!(html.contains("&lt;script&gt;&amp;&quot;") && !html.contains("<script"));
    }
}
