//! Runs the command line as a user does: simulate, fit, summarise, on problems small enough for a second.

#[path = "common/cli.rs"]
mod cli;

use cli::{SHORT, succeed};
use serde_json::Value;
use sshmc::device::gpu::list;
use std::fs;
use std::path::Path;
use std::process::Command;

const MODELS: [&str; 4] = ["lgcp", "sv", "logistic", "funnel"];

/// Small data of every model, and the arguments that fit each.
fn simulated() -> (tempfile::TempDir, fn(&str) -> &'static str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for line in [
        "simulate lgcp --grid 6x8 --total 60 --out data/lgcp",
        "simulate sv --steps 60 --out data/sv",
        "simulate logistic --groups 3 --features 2 --rows 20 --out data/logistic",
        "simulate funnel --dim 5 --out data/funnel",
    ] {
        assert!(succeed(directory.path(), line).contains("files are in data/"));
    }
    (directory, |model| match model {
        "lgcp" => "fit lgcp --counts data/lgcp/counts.csv",
        "sv" => "fit sv --returns data/sv/returns.csv",
        "logistic" => "fit logistic --table data/logistic/table.csv --group group --label y",
        _ => "fit funnel --dim 5",
    })
}

#[test]
fn every_model_is_simulated_fitted_and_summarised() {
    let (directory, fit) = simulated();
    let here = directory.path();
    for model in MODELS {
        let printed = succeed(here, &format!("{} {SHORT} --out fits/{model}", fit(model)));
        assert!(printed.starts_with("Fitting ") && printed.contains("prior of"), "{printed}");
        for part in ["ESS bulk", "R-hat", "field: ", "cost: ", "verdict: ", "are in fits/"] {
            assert!(printed.contains(part), "{model}: no `{part}` in {printed}");
        }
        let again = succeed(here, &format!("summary fits/{model}"));
        let table = |text: &str| {
            let lines = text.lines().skip_while(|line| !line.contains("ESS bulk"));
            lines.take_while(|line| !line.is_empty()).map(String::from).collect::<Vec<_>>()
        };
        assert!(table(&printed).len() >= 2, "{printed}");
        if model != "funnel" {
            assert_eq!(table(&printed), table(&again));
        }
    }
}

#[test]
fn what_no_gpu_can_do_runs_on_the_processor_and_says_so() {
    let (directory, fit) = simulated();
    for (model, option, what) in [
        ("sv", "--coordinates centred", "a centred series"),
        ("sv", "--method nuts", "this method"),
        ("lgcp", "--mass prior-plus-information", "this mass"),
        ("lgcp", "--coordinates centred --mass identity", "this mass"),
        ("funnel", "", "a model with groups of coefficients"),
    ] {
        let short = "--chains 2 --warmup 20 --draws 5";
        let printed = succeed(directory.path(), &format!("{} {short} {option}", fit(model)));
        let notice = format!("cpu: {what} runs only there");
        assert!(printed.contains(&notice), "{model} {option}: {printed}");
    }
    let printed = succeed(directory.path(), &format!("{} {SHORT}", fit("sv")));
    assert!(!printed.contains("runs only there"), "{printed}");
}

#[test]
fn without_an_adapter_a_gpu_is_an_error_and_auto_the_processor() {
    let (directory, fit) = simulated();
    let blind = |line: &str| {
        Command::new(env!("CARGO_BIN_EXE_sshmc"))
            .current_dir(directory.path())
            .env("WGPU_BACKEND", "vulkan")
            // The loader then finds no driver.
            .envs(["VK_ICD_FILENAMES", "VK_DRIVER_FILES"].map(|name| (name, "/dev/null")))
            .args(line.split_whitespace())
            .output()
            .expect("the binary runs")
    };
    let output = blind(&format!("{} {SHORT} --device gpu", fit("sv")));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.lines().count() == 1 && complaint.contains("--device cpu"), "{complaint}");
    let output = blind(&format!("{} {SHORT} --device auto", fit("sv")));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = blind("devices");
    assert!(String::from_utf8_lossy(&output.stdout).contains("there is no hardware GPU"));
}

#[test]
fn every_adapter_is_listed_with_what_matters() {
    let directory = tempfile::tempdir().unwrap();
    let printed = succeed(directory.path(), "devices");
    let adapters = list();
    assert!(!adapters.is_empty(), "this test needs an adapter: {printed}");
    let lines: Vec<&str> = printed.lines().collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].starts_with("gpu ")).collect();
    assert_eq!(heads.len(), adapters.len(), "{printed}");
    for (head, adapter) in heads.into_iter().zip(&adapters) {
        let [first, second] = [lines[head], lines[head + 1]];
        let what = format!("{}, {} through {}", adapter.name, adapter.kind, adapter.backend);
        assert!(first.contains(&what), "{first}");
        for part in [
            format!("{} invocations", adapter.workgroup),
            format!("{} KiB of memory a workgroup", adapter.shared_memory >> 10),
            format!("{} MiB a binding", adapter.binding >> 20),
            format!("{} MiB a buffer", adapter.buffer >> 20),
        ] {
            assert!(second.contains(&part), "no `{part}` in {second}");
        }
    }
    assert!(!printed.contains("no GPU: "), "{printed}");
}

#[test]
fn a_gpu_is_taken_by_kind_or_by_a_part_of_its_name() {
    let (directory, fit) = simulated();
    let printed = succeed(directory.path(), "devices");
    let line = printed.lines().find_map(|line| line.strip_prefix("gpu   ")).expect("an adapter");
    // Letters from the middle of its first word, in the other case.
    let word = line.split([' ', ',']).next().unwrap();
    let part = word[1..].to_uppercase();
    for device in ["gpu", &part] {
        let options = "--chains 2 --warmup 10 --draws 8 --seed 3 --out gpu-fit --device";
        succeed(directory.path(), &format!("{} {options} {device}", fit("lgcp")));
        let text = fs::read_to_string(directory.path().join("gpu-fit/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        let name = summary["device"].as_str().unwrap();
        assert!(line.starts_with(name) && name.to_uppercase().contains(&part), "{device}: {name}");
        let audit = summary["sampler"]["energy_audit"].as_f64();
        assert!(audit.is_some_and(|worst| worst < 1e-3), "{device}: {audit:?}");
    }
    cli::refused(
        directory.path(),
        &format!("{} {SHORT} --device no-such-adapter", fit("lgcp")),
        &["no-such-adapter", word],
    );
}

#[test]
fn auto_never_takes_a_software_adapter() {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), "simulate sv --steps 70000 --out data --quiet");
    let run = |chains: u32| {
        let options = format!("--chains {chains} --warmup 1 --draws 1 --device auto");
        succeed(directory.path(), &format!("fit sv --returns data/returns.csv {options}"))
    };
    let (large, small) = (run(2), run(1));
    assert!(small.contains("cpu: 70000 latents in all are too few to gain from a GPU"), "{small}");
    match list().into_iter().find(|adapter| !adapter.software) {
        None => assert!(large.contains("cpu: there is no hardware GPU"), "{large}"),
        Some(hardware) => {
            let chosen = format!("{}: 140000 latents in all", hardware.name);
            assert!(large.contains(&chosen), "{large}");
        }
    }
}

#[test]
fn the_summary_has_every_figure() {
    let (directory, fit) = simulated();
    let names: [&[&str]; 4] =
        [&["sigma", "range", "mu"], &["phi", "sigma", "beta"], &["gamma"], &["v"]];
    for (model, names) in MODELS.into_iter().zip(names) {
        succeed(directory.path(), &format!("{} {SHORT} --quiet --out fit", fit(model)));
        let text = fs::read_to_string(directory.path().join("fit/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(summary["model"], model);
        assert_eq!(summary["method"], "sshmc");
        assert_eq!(summary["device"], "cpu");
        assert!(summary["coordinates"].is_string());
        for (key, value) in [("seed", 3), ("chains", 2), ("warmup", 60), ("draws", 40)] {
            assert_eq!(summary[key], value, "{model}: {key}");
        }
        let parameters = summary["parameters"].as_object().unwrap();
        assert_eq!(parameters.len(), names.len());
        for name in names {
            let has = |key: &str| parameters[*name].get(key).is_some();
            for key in
                ["mean", "sd", "mcse_mean", "q05", "q50", "q95", "ess_bulk", "ess_tail", "rhat"]
            {
                assert!(has(key), "{model}: {name}.{key}");
            }
        }
        let field = &summary["field"];
        let sites = match model {
            "lgcp" => 48,
            "sv" => 60,
            "logistic" => 6,
            _ => 5,
        };
        assert_eq!(field["n"], sites);
        for key in ["min", "median", "max"] {
            assert!(field["ess_bulk"].get(key).is_some(), "{model}: field.ess_bulk.{key}");
        }
        assert!(field.get("rhat_max").is_some());
        for key in [
            "gradients",
            "warmup_gradients",
            "cpu_seconds",
            "warmup_cpu_seconds",
            "elapsed_seconds",
            "accept",
            "divergences",
            "step_size",
            "min_ess_per_1000_gradients",
            "min_ess_per_second",
        ] {
            assert!(summary["sampler"].get(key).is_some(), "{model}: sampler.{key}");
        }
        assert!(summary["sampler"]["gradients"].as_u64() > Some(80));
    }
}

#[test]
fn the_other_files_have_a_row_for_each_thing_they_list() {
    let (directory, fit) = simulated();
    let lines = |name: &str| {
        let text = fs::read_to_string(directory.path().join("fit").join(name)).unwrap();
        text.lines().map(String::from).collect::<Vec<_>>()
    };
    let expected = [
        ("lgcp", "i,j,mean,sd", 48, "sigma,range,mu"),
        ("sv", "t,mean,sd", 60, "phi,sigma,beta"),
        ("logistic", "group,feature,mean,sd", 6, "gamma"),
        ("funnel", "i,mean,sd", 5, "v"),
    ];
    for (model, heading, sites, names) in expected {
        succeed(directory.path(), &format!("{} {SHORT} --quiet --out fit", fit(model)));
        assert_eq!(
            (lines("field.csv")[0].as_str(), lines("field.csv").len()),
            (heading, sites + 1)
        );
        let draws = lines("hyperparameters.csv");
        assert_eq!(draws[0], format!("chain,draw,{names},energy,acceptance,steps,divergent"));
        assert_eq!(draws.len(), 81);
        assert_eq!(lines("report.html")[0], "<!doctype html>");
        match model {
            "lgcp" => maps_are_written(&directory.path().join("fit/maps")),
            "sv" => assert!(lines("volatility.svg")[0].starts_with("<svg")),
            _ => {}
        }
    }
}

/// Every map is there as a picture and as a GeoTIFF.
fn maps_are_written(folder: &Path) {
    let names =
        ["intensity_mean", "intensity_sd", "exceedance_2x", "intensity_q05", "intensity_q95"];
    for name in names {
        let read = |kind: &str| fs::read(folder.join(format!("{name}.{kind}"))).expect(name);
        assert!(read("png").starts_with(b"\x89PNG") && read("tif").starts_with(b"II*"), "{name}");
    }
}

#[test]
fn draws_depend_on_the_seed_alone() {
    let (directory, fit) = simulated();
    let draws = |model: &str, options: &str| {
        succeed(
            directory.path(),
            &format!("{} --warmup 60 --draws 30 --quiet --out fit {options}", fit(model)),
        );
        fs::read_to_string(directory.path().join("fit/hyperparameters.csv")).unwrap()
    };
    for model in MODELS {
        let two = draws(model, "--chains 2 --seed 7 --threads 2");
        assert_eq!(two, draws(model, "--chains 2 --seed 7 --threads 1"), "{model}: threads");
        let one = draws(model, "--chains 1 --seed 7");
        assert!(two.starts_with(&one) && one.lines().count() == 31, "{model}: first chain");
        assert_ne!(two, draws(model, "--chains 2 --seed 8"), "{model}: seed");
    }
}

#[test]
fn options_of_the_models_reach_them() {
    let (directory, fit) = simulated();
    let here = directory.path();
    let lgcp = fit("lgcp");
    let fixed = succeed(here, &format!("{lgcp} {SHORT} --mu -3.5 --kernel matern32 --exposure 2"));
    assert!(fixed.contains("mu fixed at -3.5") && !fixed.contains("prior of mu"), "{fixed}");
    assert!(fixed.contains("sshmc-out/lgcp") && here.join("sshmc-out/lgcp/summary.json").exists());
    let prior = succeed(here, &format!("{lgcp} {SHORT} --prior sigma=pc(2,0.1)"));
    assert!(prior.contains("P(sigma > 2) = 0.1"), "{prior}");
    let cells = (0..48).map(|c| format!("{},{},{}\n", c / 8, c % 8, 1 + c % 2));
    let effort = std::iter::once("i,j,exposure\n".to_owned()).chain(cells).collect::<String>();
    fs::write(here.join("effort.csv"), effort).unwrap();
    succeed(here, &format!("{lgcp} {SHORT} --exposure effort.csv"));
    let logistic = fit("logistic");
    let added = succeed(here, &format!("{logistic} {SHORT} --ignore x1 --ignore x0 --intercept"));
    assert!(added.contains("60 rows in 3 groups, 1 features"), "{added}");
    for coordinates in ["centred", "whitened", "informed"] {
        let options = format!("{SHORT} --coordinates {coordinates} --mass prior --out c");
        let printed = succeed(here, &format!("{} {options}", fit("funnel")));
        assert!(printed.contains(&format!("in {coordinates} coordinates")), "{printed}");
    }
}

#[test]
fn simulations_repeat_themselves_and_quiet_is_quiet() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let counts = |seed: u64| {
        let line = format!("simulate lgcp --grid 8 --total 50 --seed {seed} --out d --quiet");
        assert!(succeed(here, &line).is_empty());
        fs::read_to_string(here.join("d/counts.csv")).unwrap()
    };
    let first = counts(1);
    assert_eq!(first, counts(1));
    assert_ne!(first, counts(2));
    assert!(first.starts_with("i,j,y,x_true\n0,0,") && first.lines().count() == 65);
    let truth = fs::read_to_string(here.join("d/truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    assert_eq!(truth["parameters"]["sigma"], 1.2);
    assert!(truth["parameters"]["mu"].is_number());
    let line = format!("fit lgcp --counts d/counts.csv {SHORT} --quiet");
    assert!(succeed(here, &line).is_empty());
}

#[test]
fn help_names_every_command_and_devices_the_processor() {
    let directory = tempfile::tempdir().unwrap();
    let help = succeed(directory.path(), "--help");
    for word in ["devices", "simulate", "fit", "summary", "demo", "Exit codes"] {
        assert!(help.contains(word), "{help}");
    }
    for model in MODELS {
        let help = succeed(directory.path(), &format!("fit {model} --help"));
        assert!(help.contains("--prior") && help.contains("Example"), "{help}");
    }
    assert!(succeed(directory.path(), "devices").contains("f64"));
    assert!(succeed(directory.path(), "--version").starts_with("sshmc "));
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_does_not_stop_a_fit() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "'{}' fit funnel --dim 3 --chains 1 --warmup 20 --draws 20 --out f | true; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_sshmc")
    );
    let output = Command::new("bash")
        .current_dir(directory.path())
        .args(["-c", &script])
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(directory.path().join("f/summary.json").exists());
}
