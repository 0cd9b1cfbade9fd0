// The memory a workgroup shares.
var<workgroup> cells: array<vec2f, CELLS>;
