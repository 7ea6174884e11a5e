package spec

import "embed"

// Documents holds the OpenAPI document (FAMILY/VERSION.yaml) and the catalogue
// (FAMILY/VERSION.requirements.yaml) of every dialect. Package spec/dialect reads them. Every
// VERSION contains a dot or a dash. The base names of other YAML files, such as those of package
// spec/coverage, contain neither, so those files are not embedded.
//
//go:embed */*.*.yaml */*-*.yaml
var Documents embed.FS
