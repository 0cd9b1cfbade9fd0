//! Reproduces the paper: its tables with our figures beside the printed ones, and its figures.

mod claims;
mod figures;
mod measure;
mod page;
mod printed;
mod runs;
mod table;

use super::failure::Failure;
use super::screen::Screen;
use clap::{Args, ValueEnum};
use measure::{Row, Store, write};
use page::Block;
use runs::{Kind, Problem, Run, Size};
use sshmc::report::draw_png;
use std::path::{Path, PathBuf};
use std::time::Instant;

const AFTER_HELP: &str = "\
Writes into DIR: paper.md and paper.html, the pages; figure1 to figure3 as .svg and .png; runs/, the figures of every run. A run that was made
before with the same settings is not made again, so a call that was stopped can be repeated, and tables can be made one by one.

With the paper's numbers of draws everything takes a night on two cores; --quick takes minutes and shows only that it works.

Examples:
  sshmc paper --quick
  sshmc paper table1
  sshmc paper table2 --data german.data --out credit
  sshmc paper all --skip-costly --out reproduced";

/// Options of the reproduction.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Paper {
    /// What to make
    #[arg(value_enum, default_value_t = Item::All)]
    item: Item,
    /// Small data and few draws: minutes instead of hours
    #[arg(long)]
    quick: bool,
    /// Draws of each chain instead of the paper's; warm-up is half as long
    #[arg(long, value_name = "N")]
    draws: Option<u32>,
    /// Leave out the runs that take hours: dense covariances and SoftAbs
    #[arg(long)]
    skip_costly: bool,
    /// The file german.data of the UCI repository, for table2 [default: a simulated table of the same shape]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Seed of the samplers; data are always drawn with the same one
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Directory for the results
    #[arg(long, value_name = "DIR", default_value = "sshmc-paper")]
    out: PathBuf,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Item {
    /// All tables and figures
    All,
    /// Gaussian funnel
    Table1,
    /// Hierarchical logistic regression
    Table2,
    /// Stochastic volatility
    Table3,
    /// Log-Gaussian Cox process
    Table4,
    /// Trajectories on the funnel
    Figure1,
    /// Histograms of the hyperparameters of stochastic volatility
    Figure2,
    /// Posterior fields of the Cox process
    Figure3,
}

impl Item {
    /// Whether this asks for another item.
    fn asks(self, item: Item) -> bool {
        self == Item::All || self == item
    }
}

impl Paper {
    /// Makes what is asked for, and says how far it is. What was made before with the same settings is on the page too.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let size = self.size().map_err(Failure::preparing)?;
        // All data are read and drawn before the first hour of running.
        let chapters = chapters(&size).map_err(Failure::preparing)?;
        size.check_data(&self.out).map_err(Failure::preparing)?;
        let store = Store::open(&self.out).map_err(Failure::preparing)?;
        let begun = Instant::now();
        let mut screen = Screen::open(self.quiet);
        let mut blocks = vec![Block::Text(self.introduction())];
        if self.item.asks(Item::Figure1) || self.out.join("figure1.svg").is_file() {
            blocks.push(figures::first().map_err(Failure::running)?);
        }
        for chapter in &chapters {
            blocks.extend(self.make(chapter, &store, &mut screen)?);
        }
        write_pages(&self.out, &blocks).map_err(Failure::finishing)?;
        let (seconds, page) = (begun.elapsed().as_secs_f64(), self.out.join("paper.html"));
        screen.tell(&format!("Done in {seconds:.0} s. The page is {}\n", page.display()))
    }

    /// The part of the page that belongs to a table; empty if nobody asked for it.
    fn make(
        &self,
        chapter: &Chapter,
        store: &Store,
        screen: &mut Screen,
    ) -> Result<Vec<Block>, Failure> {
        let made = || chapter.runs.iter().all(|run| store.find(run).is_some());
        let whole = self.item.asks(chapter.item) || made();
        let drawn = chapter.figure.is_some_and(|figure| whole || self.item.asks(figure));
        if !whole && !drawn {
            return Ok(Vec::new());
        }
        let wanted = chapter.runs.iter().filter(|run| whole || run.kind == Kind::Published);
        let rows = wanted.map(|run| self.row(run, store, screen)).collect::<Result<Vec<_>, _>>()?;
        let mut blocks = Vec::new();
        if whole {
            blocks.extend(section(chapter.table, &chapter.problem, &rows));
        }
        if drawn {
            blocks.push(picture(&rows, &chapter.problem).map_err(Failure::running)?);
        }
        Ok(blocks)
    }

    fn size(&self) -> sshmc::Result<Size> {
        if self.draws == Some(0) {
            let remedy = "ask for at least 4";
            return Err(sshmc::Error::input("--draws", "a whole number >= 1", "0", remedy));
        }
        super::options::at_most("--draws", u64::from(self.draws.unwrap_or(1)), 10_000_000)?;
        Ok(Size {
            quick: self.quick,
            draws: self.draws,
            skip_costly: self.skip_costly,
            seed: self.seed,
            threads: self.threads,
            german: self.data.clone(),
        })
    }

    fn introduction(&self) -> String {
        let lengths = match (self.draws, self.quick) {
            (Some(draws), _) => format!("Runs have {draws} draws after a warm-up half as long."),
            (None, true) => "Runs are short and on small data (--quick): they show that everything works and no more.".into(),
            (None, false) => "Runs have the paper's length: 5000 draws after 1000, for stochastic volatility 20000 after 10000.".into(),
        };
        format!(
            "The tables and figures of Zhang and Sutton (2014), made by sshmc {}. {lengths} Each run has two chains, one a core; times are wall-clock \
             seconds after warm-up and effective sample sizes Geyer's, both of one chain, as in the paper. Bulk ESS is the rank-normalised one of \
             today. Step sizes are tuned during warm-up to an acceptance of 80 %. RMHMC runs every trajectory twice, once to look whether it returns \
             to its start, so without that check it would take half the time. Divergent counts include trajectories whose implicit equations could \
             not be solved or that did not return; all of them are rejected.",
            env!("CARGO_PKG_VERSION")
        )
    }

    /// The figures of a run, made now or before.
    fn row(&self, run: &Run, store: &Store, screen: &mut Screen) -> Result<Row, Failure> {
        let earlier = store.find(run);
        let again = if earlier.is_some() { " (made before)" } else { "" };
        let figures = match earlier {
            Some(figures) => figures,
            None => store.make(run, self.quiet).map_err(Failure::running)?,
        };
        let dense = if run.kind == Kind::Dense { ", dense" } else { "" };
        screen.tell(&format!(
            "table {}: {} in {} coordinates{dense}: {} s, smallest ESS {}, {} a second{again}\n",
            run.table,
            run.method,
            run.coordinates,
            table::number(figures.seconds),
            table::number(figures.least()),
            table::number(figures.rate()),
        ))?;
        Ok(Row { method: run.method, coordinates: run.coordinates, kind: run.kind, figures })
    }
}

/// A table with its data and runs, and the figure that is drawn from them.
struct Chapter {
    table: usize,
    item: Item,
    figure: Option<Item>,
    problem: Problem,
    runs: Vec<Run>,
}

fn chapters(size: &Size) -> sshmc::Result<Vec<Chapter>> {
    let items = [
        (Item::Table1, None),
        (Item::Table2, None),
        (Item::Table3, Some(Item::Figure2)),
        (Item::Table4, Some(Item::Figure3)),
    ];
    let chapter = |(table, (item, figure))| {
        let problem = size.problem(table)?;
        let runs = runs::runs(table, &problem, size);
        Ok(Chapter { table, item, figure, problem, runs })
    };
    (1..).zip(items).map(chapter).collect()
}

/// A table with what is around it.
fn section(table: usize, problem: &Problem, rows: &[Row]) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(format!("Table {table}. {}", printed::caption(table))),
        Block::Text(format!("Data: {}.", problem.about)),
        Block::Table(table::cells(table, rows)),
        Block::List(claims::claims(table, rows)),
    ];
    blocks.extend(table::agreement(rows).map(Block::Text));
    blocks
}

fn picture(rows: &[Row], problem: &Problem) -> sshmc::Result<Block> {
    match &problem.counts {
        None => figures::second(rows),
        Some(counts) => figures::third(rows, counts),
    }
}

/// Writes both pages and the pictures.
fn write_pages(out: &Path, blocks: &[Block]) -> sshmc::Result<()> {
    for block in blocks {
        if let Block::Figure { name, svg, .. } = block {
            write(&out.join(format!("{name}.svg")), svg.as_bytes())?;
            write(&out.join(format!("{name}.png")), &draw_png(svg)?)?;
        }
    }
    write(&out.join("paper.md"), page::markdown(blocks).as_bytes())?;
    write(&out.join("paper.html"), page::html(blocks).as_bytes())
}
