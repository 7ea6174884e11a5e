package spec

import "embed"

// Documents holds the OpenAPI document (FAMILY/VERSION.yaml) and the catalogue
// (FAMILY/VERSION.requirements.yaml) of every dialect. Package spec/dialect reads them. All YAML
// files one directory below this package are embedded, so other YAML files are kept deeper.
//
//go:embed */*.yaml
var Documents embed.FS
