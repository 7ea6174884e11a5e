package spec

import "embed"

// Documents holds the OpenAPI document and the catalogue of every dialect:
// FAMILY/VERSION.yaml and FAMILY/VERSION.requirements.yaml. They are read by package
// spec/dialect. Other files in these folders, such as those of package spec/coverage,
// have neither a dot nor a dash in their base names, and so are not embedded.
//
//go:embed */*.*.yaml */*-*.yaml
var Documents embed.FS
