package spec

import "embed"

// Documents holds the OpenAPI document (FAMILY/VERSION.yaml) and the catalogue
// (FAMILY/VERSION.requirements.yaml) of every dialect. Package spec/dialect reads them. All YAML
// files one directory below this package are embedded, so YAML files for other purposes must be
// kept in deeper directories.
//
//go:embed */*.yaml
var Documents embed.FS
