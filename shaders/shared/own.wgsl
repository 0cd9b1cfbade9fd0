// What a likelihood has of its own: the working values of its hyperparameters at this chain, each as two floats, and where `site` leaves the
// derivatives of its value in them, as two floats too. They are zero before every site.
var<private> own: array<vec2f, max(OWN, 1u)>;
var<private> by_own: array<vec2f, max(OWN, 1u)>;
