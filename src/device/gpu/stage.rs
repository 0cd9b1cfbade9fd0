//! Compiles stages: a file of `shaders/` with the shared pieces it uses, constants, and its bindings.

use std::borrow::Cow;

/// One shared piece or stage of WGSL, by its path under `shaders/`.
macro_rules! wgsl {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $path))
    };
}
pub(super) use wgsl;

/// What is needed to compile a stage.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    /// The stage's name: the stem of its file, its label, the name in messages.
    pub(super) name: &'static str,
    /// The WGSL pieces it is made of; order does not matter to the language.
    pub(super) parts: Vec<Cow<'static, str>>,
    /// Its constants; the shader uses them without declaring them.
    pub(super) constants: Vec<(&'static str, Constant)>,
    /// Which bindings, from 0 up, are only read.
    pub(super) read_only: Vec<bool>,
}

/// A constant of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Count(u32),
    Real(f32),
    /// Written into the source, for what the language does not let an `override` decide.
    Fixed(u32),
}

impl From<usize> for Constant {
    fn from(value: usize) -> Self {
        Constant::Count(value as u32)
    }
}

impl From<f64> for Constant {
    fn from(value: f64) -> Self {
        Constant::Real(value as f32)
    }
}

impl Spec {
    /// The whole source: a declaration of each constant, then the pieces.
    pub(super) fn source(&self) -> String {
        let mut source = String::new();
        for (name, constant) in &self.constants {
            source += &match constant {
                Constant::Count(_) => format!("override {name}: u32;\n"),
                Constant::Real(_) => format!("override {name}: f32;\n"),
                Constant::Fixed(value) => format!("const {name}: u32 = {value}u;\n"),
            };
        }
        for part in &self.parts {
            source += part;
            source.push('\n');
        }
        source
    }

    /// What two equal stages share and no others.
    pub(super) fn key(&self) -> String {
        format!("{} {:?}\n{}", self.name, self.constants, self.source())
    }

    /// Constants as the pipeline takes them.
    pub(super) fn values(&self) -> Vec<(&'static str, f64)> {
        let value = |(name, constant): &(&'static str, Constant)| match constant {
            Constant::Count(count) => Some((*name, f64::from(*count))),
            Constant::Real(real) => Some((*name, f64::from(*real))),
            Constant::Fixed(_) => None,
        };
        self.constants.iter().filter_map(value).collect()
    }
}

/// A compiled stage.
pub(super) struct Stage {
    name: &'static str,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    read_only: Vec<bool>,
}

impl Stage {
    pub(super) fn compile(device: &wgpu::Device, spec: &Spec) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(spec.name),
            source: wgpu::ShaderSource::Wgsl(spec.source().into()),
        });
        let entries: Vec<_> = spec.read_only.iter().enumerate().map(entry).collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(spec.name),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(spec.name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(spec.name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &spec.values(),
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        Self { name: spec.name, pipeline, layout, read_only: spec.read_only.clone() }
    }
}

fn entry((binding, read_only): (usize, &bool)) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: *read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

/// A stage with its buffers and size: ready to be dispatched.
pub(super) struct Bound {
    stage: std::sync::Arc<Stage>,
    group: wgpu::BindGroup,
    groups: [u32; 3],
    /// Bytes a dispatch moves, each counted once.
    pub(super) traffic: u64,
}

impl Bound {
    /// Binds buffers in the order of the shader's bindings.
    pub(super) fn new(
        gpu: &super::Gpu,
        spec: &Spec,
        buffers: &[&wgpu::Buffer],
        groups: [usize; 2],
        traffic: u64,
    ) -> crate::Result<Self> {
        let whole: Vec<_> = buffers.iter().map(|b| b.as_entire_binding()).collect();
        Self::with(gpu, spec, whole, groups, traffic)
    }

    /// The same with parts of buffers.
    pub(super) fn with(
        gpu: &super::Gpu,
        spec: &Spec,
        resources: Vec<wgpu::BindingResource<'_>>,
        groups: [usize; 2],
        traffic: u64,
    ) -> crate::Result<Self> {
        let most = gpu.adapter().workgroups as usize;
        if let Some(&count) = groups.iter().find(|&&count| count > most) {
            return Err(crate::DeviceError::Unsupported {
                what: format!("a problem with {count} workgroups in stage {}", spec.name),
                why: format!("{} takes at most {most} along a side", gpu.adapter().name),
                remedy: "run fewer chains, a smaller problem, or use --device cpu".into(),
            }
            .into());
        }
        let stage = gpu.stage(spec)?;
        debug_assert_eq!(resources.len(), stage.read_only.len());
        let entries: Vec<_> = resources
            .into_iter()
            .enumerate()
            .map(|(i, resource)| wgpu::BindGroupEntry { binding: i as u32, resource })
            .collect();
        let group = gpu.checked(stage.name, || {
            gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(stage.name),
                layout: &stage.layout,
                entries: &entries,
            })
        })?;
        Ok(Self { stage, group, groups: [groups[0] as u32, groups[1] as u32, 1], traffic })
    }

    pub(super) fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.stage.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.groups[0], self.groups[1], self.groups[2]);
    }
}
