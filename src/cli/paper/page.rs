//! Writes the results as one Markdown and one HTML page.

use super::table::Cells;

/// A piece of the page.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Cells),
    /// A figure: name of its files without ending, caption, SVG.
    Figure {
        /// Name of its files without ending.
        name: String,
        /// What it shows.
        caption: String,
        /// The picture.
        svg: String,
    },
}

const TITLE: &str = "Semi-separable Hamiltonian Monte Carlo, reproduced";

/// The page as Markdown; figures are links to their PNG.
pub(crate) fn markdown(blocks: &[Block]) -> String {
    let mut text = format!("# {TITLE}\n");
    for block in blocks {
        text.push('\n');
        match block {
            Block::Heading(heading) => text.push_str(&format!("## {heading}\n")),
            Block::Text(words) => text.push_str(&format!("{words}\n")),
            Block::List(items) => items.iter().for_each(|i| text.push_str(&format!("- {i}\n"))),
            Block::Table(cells) => text.push_str(&markdown_table(cells)),
            Block::Figure { name, caption, .. } => {
                text.push_str(&format!("![{caption}]({name}.png)\n\n{caption}\n"));
            }
        }
    }
    text
}

fn markdown_table(cells: &Cells) -> String {
    let line = |row: &[String]| format!("| {} |\n", row.join(" | "));
    let rule = "|---".repeat(cells.head.len()) + "|\n";
    line(&cells.head) + &rule + &cells.rows.iter().map(|row| line(row)).collect::<String>()
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1500px;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;font-size:13px}td,th{padding:3px 9px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
th{background:#f4f4f4}td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}tr.paper td{background:#fbf6e6}\
figure{margin:1em 0}figcaption{color:#555}div.wide{overflow-x:auto}svg{max-width:100%;height:auto}";

/// The page as HTML, with the pictures in it.
pub(crate) fn html(blocks: &[Block]) -> String {
    let mut body = format!("<h1>{TITLE}</h1>\n");
    for block in blocks {
        match block {
            Block::Heading(heading) => body.push_str(&format!("<h2>{}</h2>\n", escape(heading))),
            Block::Text(words) => body.push_str(&format!("<p>{}</p>\n", escape(words))),
            Block::List(items) => {
                let items: String =
                    items.iter().map(|i| format!("<li>{}</li>\n", escape(i))).collect();
                body.push_str(&format!("<ul>\n{items}</ul>\n"));
            }
            Block::Table(cells) => body.push_str(&html_table(cells)),
            Block::Figure { caption, svg, .. } => body.push_str(&format!(
                "<figure>{svg}<figcaption>{}</figcaption></figure>\n",
                escape(caption)
            )),
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{TITLE}</title><style>{STYLE}</style></head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

fn html_table(cells: &Cells) -> String {
    let line = |tag: &str, row: &[String]| {
        row.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect::<String>()
    };
    let rows: String = cells
        .rows
        .iter()
        .map(|row| {
            let class = if row[0] == "paper" { " class=\"paper\"" } else { "" };
            format!("<tr{class}>{}</tr>\n", line("td", row))
        })
        .collect();
    format!(
        "<div class=\"wide\"><table>\n<tr>{}</tr>\n{rows}</table></div>\n",
        line("th", &cells.head)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pages_hold_every_block() {
        let cells = Cells {
            head: vec!["a".into(), "b".into()],
            rows: vec![vec!["paper".into(), "1 < 2".into()]],
        };
        let figure = Block::Figure {
            name: "figure9".into(),
            caption: "a curve".into(),
            svg: "<svg></svg>".into(),
        };
        let blocks = [
            Block::Heading("Table 9".into()),
            Block::Text("words".into()),
            Block::List(vec!["one".into(), "two".into()]),
            Block::Table(cells),
            figure,
        ];
        let (text, page) = (markdown(&blocks), html(&blocks));
        for part in [
            "## Table 9",
            "words",
            "- one\n- two",
            "| a | b |\n|---|---|\n| paper | 1 < 2 |",
            "](figure9.png)",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        for part in
            ["<h2>Table 9</h2>", "<li>two</li>", "class=\"paper\"", "1 &lt; 2", "<svg></svg>"]
        {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
