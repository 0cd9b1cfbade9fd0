//! Checks every shader without a device: it parses, it is valid, it fits the portable limits, and its structs are laid out like their twins.

mod pieces;

use super::params::{Ar1Prior, Motion, Slab, SpectralPrior};
use super::stage::{Constant, Spec};
use super::{ar1, dense, field, self_test, spectral, state, twin};
use std::mem::offset_of;
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
use wgpu::naga::{AddressSpace, Module, ScalarKind, TypeInner, front::wgsl};

fn specs() -> Vec<Spec> {
    let site = include_str!("../../../shaders/site/poisson.wgsl");
    let mut all = vec![self_test::spec(), twin::spec(site.into(), 100, 0)];
    all.extend(state::specs());
    all.extend(field::specs());
    all.extend(spectral::test_specs());
    all.extend(ar1::test_specs());
    all.extend(dense::specs());
    all
}

fn parse(source: &str) -> Result<Module, String> {
    let module = wgsl::parse_str(source).map_err(|e| e.emit_to_string(source))?;
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|e| e.emit_to_string(source))?;
    Ok(module)
}

#[test]
fn every_stage_is_valid_within_the_portable_limits() {
    for spec in specs() {
        let module = parse(&spec.source()).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        let bindings = module.global_variables.iter().filter(|(_, v)| v.binding.is_some()).count();
        assert_eq!(bindings, spec.read_only.len(), "{}: bindings", spec.name);
        assert!(bindings <= 8, "{}: more than 8 storage buffers", spec.name);
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else { continue };
            let AddressSpace::Storage { access } = variable.space else {
                panic!("{}: {:?} is not a storage buffer", spec.name, variable.name)
            };
            let writes = access.contains(wgpu::naga::StorageAccess::STORE);
            assert_eq!(
                writes, !spec.read_only[binding.binding as usize],
                "{}: access to {:?}",
                spec.name, variable.name
            );
        }
        let entry = &module.entry_points[0];
        assert_eq!(entry.name, "main", "{}", spec.name);
    }
}

#[test]
fn the_check_rejects_a_shader_that_is_wrong() {
    assert!(parse("fn f() -> u32 { return 1.0; }").is_err());
    assert!(parse("@group(0) @binding(0) var<uniform> x: array<f32, 4>;").is_err());
}

/// A stage's source with every constant written in, so that sizes are known without a device.
fn fixed(spec: &Spec) -> String {
    let mut source = spec.source();
    for (name, constant) in &spec.constants {
        let (kind, value) = match constant {
            Constant::Count(count) => ("u32", format!("{count}u")),
            Constant::Real(real) => ("f32", format!("{real:e}")),
            Constant::Fixed(_) => continue,
        };
        let open = format!("override {name}: {kind};");
        assert!(source.contains(&open), "{}: no {name}", spec.name);
        source = source.replace(&open, &format!("const {name}: {kind} = {value};"));
    }
    source
}

/// Invocations of a workgroup, and the bytes they share.
fn needs(module: &Module) -> (u32, u32) {
    let shared = module.global_variables.iter().filter(|(_, v)| v.space == AddressSpace::WorkGroup);
    let bytes = shared.map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx())).sum();
    (module.entry_points[0].workgroup_size.iter().product(), bytes)
}

#[test]
fn workgroups_fit_the_portable_limits() {
    let mut largest = (0, 0);
    for spec in specs() {
        let module = parse(&fixed(&spec)).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        let (invocations, bytes) = needs(&module);
        assert!((1..=256).contains(&invocations), "{}: {invocations} invocations", spec.name);
        assert!(bytes <= 16 << 10, "{}: {bytes} bytes of workgroup memory", spec.name);
        largest = (largest.0.max(invocations), largest.1.max(bytes));
    }
    // The longest lines are among them, and nothing is lost in counting.
    assert_eq!(largest, (256, 16 << 10));
    let spec = specs().into_iter().find(|s| s.name == "synthesise").unwrap();
    let twice = fixed(&spec) + "var<workgroup> more: array<vec4f, 2048>;";
    assert!(needs(&parse(&twice).unwrap()).1 > 16 << 10, "the count must see more memory");
}

/// Files under `shaders/` that no listed stage is made of.
fn unused(specs: &[Spec]) -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let list = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let files: Vec<_> = list(&root).iter().flat_map(|folder| list(folder)).collect();
    assert!(files.len() > 30, "{files:?}");
    let used = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        specs.iter().flat_map(|spec| &spec.parts).any(|part| part.contains(text.trim()))
    };
    let left = files.iter().filter(|file| !used(file));
    left.map(|file| file.strip_prefix(&root).unwrap().display().to_string()).collect()
}

#[test]
fn every_shader_is_part_of_a_stage_that_is_checked() {
    assert_eq!(unused(&specs()), Vec::<String>::new());
    let fewer: Vec<Spec> = specs().into_iter().filter(|spec| spec.name != "multiply").collect();
    assert_eq!(unused(&fewer), ["dense/multiply.wgsl"], "a stage nobody lists must show");
}

/// A member: its name and offset, what it is made of, and how many of those.
type Member = (String, u32, &'static str, u32);

/// What a type is made of in the end.
fn scalar(module: &Module, inner: &TypeInner) -> &'static str {
    match inner {
        TypeInner::Scalar(of) | TypeInner::Vector { scalar: of, .. } => match of.kind {
            ScalarKind::Float => "f32",
            ScalarKind::Uint => "u32",
            _ => panic!("{of:?} is in no parameter"),
        },
        TypeInner::Array { base, .. } => scalar(module, &module.types[*base].inner),
        other => panic!("{other:?} is in no parameter"),
    }
}

/// The members of a struct, and its size.
fn layout(source: &str, name: &str) -> (Vec<Member>, u32) {
    let module = parse(source).unwrap();
    let found = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name));
    let (_, found) = found.unwrap_or_else(|| panic!("no struct {name}"));
    let TypeInner::Struct { members, span } = &found.inner else { panic!("{name} is no struct") };
    let member = |m: &wgpu::naga::StructMember| {
        let inner = &module.types[m.ty].inner;
        let count = inner.size(module.to_ctx()) / 4;
        (m.name.clone().unwrap_or_default(), m.offset, scalar(&module, inner), count)
    };
    (members.iter().map(member).collect(), *span)
}

/// The same without the numbers at the end, of which the model decides how many: each in a vector of four floats.
fn without_numbers((mut members, span): (Vec<Member>, u32)) -> (Vec<Member>, u32) {
    let (name, offset, of, count) = members.pop().unwrap();
    assert_eq!((of, count % 4, offset + 4 * count), ("f32", 0, span), "{name}");
    (members, offset)
}

/// The same of a member of a Rust struct.
fn kind<S, F>(_: fn(&S) -> &F) -> (&'static str, u32) {
    let name = std::any::type_name::<F>();
    let of = if name.contains("f32") { "f32" } else { "u32" };
    assert!(name.contains(of), "{name} is in no parameter");
    (of, size_of::<F>() as u32 / 4)
}

/// The same of a `repr(C)` struct.
macro_rules! twin {
    ($type:ty: $($field:ident),* $(,)?) => {
        (
            vec![$({
                let (of, count) = kind(|s: &$type| &s.$field);
                (stringify!($field).to_owned(), offset_of!($type, $field) as u32, of, count)
            }),*],
            size_of::<$type>() as u32,
        )
    };
}

#[test]
fn structs_are_laid_out_like_their_twins() {
    let stage = specs().into_iter().find(|s| s.name == "synthesise").unwrap().source();
    let motion = twin!(Motion: kick, reference, half, sine, sign, moving, accepted, chain, transition, seed_low,
        seed_high, weight, row, zero, draw, length);
    assert_eq!(layout(&stage, "Motion"), motion);
    let prior = twin!(SpectralPrior: variance, position, slot, white, kappa, first, mean,
        steepness, mean_first, zero, unused);
    assert_eq!(without_numbers(layout(&stage, "Prior")), prior);
    let series = specs().into_iter().find(|s| s.name == "shift").unwrap().source();
    let prior = twin!(Ar1Prior: rho, scale, first, excess, scale_ratio, first_ratio, pull, mean, kappa, end,
        coefficient, zero, length, datum, unused, powers);
    assert_eq!(without_numbers(layout(&series, "Prior")), prior);
    let multiply = dense::specs()[0].source();
    assert_eq!(layout(&multiply, "Slab"), twin!(Slab: first, rows, zero, unused));
    let swapped =
        stage.replace("    kick: f32,\n    reference: f32,", "    reference: f32,\n    kick: f32,");
    assert_ne!(layout(&swapped, "Motion"), motion, "the comparison must see a swapped member");
    let retyped = stage.replace("    length: u32,", "    length: f32,");
    assert_ne!(
        layout(&retyped, "Motion"),
        motion,
        "the comparison must see a member of another type"
    );
}
