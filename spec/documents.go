package spec

import "embed"

// Documents holds the OpenAPI document and the catalogue of every dialect:
// FAMILY/VERSION.yaml and FAMILY/VERSION.requirements.yaml. Package
// spec/dialect reads them. Only these stand in the folders of families; the maps
// of package spec/coverage, beside them, have neither dot nor dash in their names.
//
//go:embed */*.*.yaml */*-*.yaml
var Documents embed.FS
