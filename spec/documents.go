package spec

import "embed"

// Documents holds the OpenAPI document and the catalogue of every dialect:
// FAMILY/VERSION.yaml and FAMILY/VERSION.requirements.yaml. Package
// spec/dialect reads them.
//
//go:embed */*.yaml
var Documents embed.FS
