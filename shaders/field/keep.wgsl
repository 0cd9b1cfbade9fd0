// Copies the current field at the sites chosen for each chain to the next row of the history.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> current: array<f32>;
@group(0) @binding(2) var<storage, read> chosen: array<u32>;
@group(0) @binding(3) var<storage, read_write> history: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let k = group.x * WG + id.x;
    if (k < KEPT) {
        let row = motion[b].row;
        history[(row * CHAINS + b) * KEPT + k] = current[b * SITES + chosen[b * KEPT + k]];
    }
}
