//! Writes draws and fields as tables that any program reads.

use crate::draws::pooled;
use crate::sample::Fit;
use std::io::{self, Write};

/// Posterior mean and standard deviation of every site, over all chains.
#[derive(Clone, Debug)]
pub struct FieldMoments {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub sd: Vec<f64>,
}

impl FieldMoments {
    /// Of a fit.
    pub fn new(fit: &Fit) -> Self {
        let chains: Vec<_> = fit.chains.iter().map(|chain| &chain.field).collect();
        let (mean, sd) = pooled(&chains);
        Self { mean, sd }
    }

    /// Writes one row a site. `heading` names the columns before mean and sd, and `key` gives a site's entries in them.
    pub fn write_csv(
        &self,
        heading: &str,
        key: impl Fn(usize) -> String,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "{heading},mean,sd")?;
        for (site, (mean, sd)) in self.mean.iter().zip(&self.sd).enumerate() {
            writeln!(out, "{},{mean:?},{sd:?}", key(site))?;
        }
        Ok(())
    }
}

/// Writes every draw of the hyperparameters with what the sampler did to get it. `energy` is the Hamiltonian at the
/// start of the trajectory, `acceptance` its acceptance probability, `steps` its integrator steps.
pub fn write_draws(fit: &Fit, out: &mut impl Write) -> io::Result<()> {
    let names = fit.model.hyperparameters().names().join(",");
    writeln!(out, "chain,draw,{names},energy,acceptance,steps,divergent")?;
    for chain in &fit.chains {
        for draw in 0..chain.energy.len() {
            write!(out, "{},{draw}", chain.chain)?;
            for values in &chain.parameters {
                write!(out, ",{:?}", values[draw])?;
            }
            writeln!(
                out,
                ",{:?},{:?},{},{}",
                chain.energy[draw],
                chain.acceptance[draw],
                chain.steps[draw],
                u8::from(chain.divergent[draw]),
            )?;
        }
    }
    Ok(())
}

/// A name as a CSV field, in quotes if it needs them.
pub fn csv_field(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        false => name.to_owned(),
        true => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::funnel;
    use crate::sample::{Settings, run};
    use std::sync::Arc;

    #[test]
    fn tables_have_a_row_for_every_draw_and_site() {
        let model = Arc::new(funnel(3, &[]).unwrap());
        let settings = Settings { chains: 2, warmup: 20, draws: 5, ..Settings::default() };
        let fit = run(&model, &settings, &()).unwrap();
        let (mut draws, mut field) = (Vec::new(), Vec::new());
        write_draws(&fit, &mut draws).unwrap();
        FieldMoments::new(&fit).write_csv("i", |site| site.to_string(), &mut field).unwrap();
        let (draws, field) = (String::from_utf8(draws).unwrap(), String::from_utf8(field).unwrap());
        assert!(draws.starts_with("chain,draw,v,energy,acceptance,steps,divergent\n0,0,"));
        assert_eq!(draws.lines().count(), 1 + 10);
        assert!(draws.lines().all(|line| line.split(',').count() == 7));
        assert!(field.starts_with("i,mean,sd\n0,"));
        assert_eq!(field.lines().count(), 1 + 3);
    }

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert_eq!(csv_field("east"), "east");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
