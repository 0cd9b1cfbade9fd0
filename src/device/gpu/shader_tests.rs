//! Checks every shader without a device: it parses, it is valid, and its structs are laid out like their twins.

use super::params::{Ar1Prior, Motion, Slab, SpectralPrior};
use super::stage::Spec;
use super::{ar1, dense, field, self_test, spectral, state};
use std::mem::offset_of;
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
use wgpu::naga::{Module, TypeInner, front::wgsl};

fn specs() -> Vec<Spec> {
    let mut all = vec![self_test::spec()];
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
            let wgpu::naga::AddressSpace::Storage { access } = variable.space else {
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

/// Name and offset of each member of a struct, and its size.
fn layout(source: &str, name: &str) -> (Vec<(String, u32)>, u32) {
    let module = parse(source).unwrap();
    let found = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name));
    let (_, found) = found.unwrap_or_else(|| panic!("no struct {name}"));
    let TypeInner::Struct { members, span } = &found.inner else { panic!("{name} is no struct") };
    let member = |m: &wgpu::naga::StructMember| (m.name.clone().unwrap_or_default(), m.offset);
    (members.iter().map(member).collect(), *span)
}

/// The same of a `repr(C)` struct.
macro_rules! twin {
    ($type:ty: $($field:ident),* $(,)?) => {
        (
            vec![$((stringify!($field).to_owned(), offset_of!($type, $field) as u32)),*],
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
        steepness, mean_first, zero, unused, effects);
    assert_eq!(layout(&stage, "Prior"), prior);
    let series = specs().into_iter().find(|s| s.name == "shift").unwrap().source();
    let prior = twin!(Ar1Prior: rho, scale, first, excess, scale_ratio, first_ratio, pull, mean, kappa, end,
        coefficient, zero, length, datum, unused, powers);
    assert_eq!(layout(&series, "Prior"), prior);
    let multiply = dense::specs()[0].source();
    assert_eq!(layout(&multiply, "Slab"), twin!(Slab: first, rows, zero, unused));
    let swapped =
        stage.replace("    kick: f32,\n    reference: f32,", "    reference: f32,\n    kick: f32,");
    assert_ne!(layout(&swapped, "Motion"), motion, "the comparison must see a swapped member");
}
