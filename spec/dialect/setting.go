package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/near"
)

// settingDefaults returns the default values of the settings that the document declares
// (x-settings), by name.
func (s *openAPIDocument) settingDefaults() map[string]string {
	defaults := map[string]string{}
	for name, setting := range s.lookup("/x-settings").members() {
		defaults[name] = slotText(setting.get("default").value)
	}
	return defaults
}

// WithSettings returns a copy of d with changed settings. The argument values maps the names of
// settings to their new values. A setting, such as the name of a model, is declared by the document
// (x-settings), and templates refer to it as {{set.NAME}}. WithSettings returns an error if the
// document does not declare one of the names. If values is empty, it returns d itself.
func (d *Dialect) WithSettings(values map[string]string) (*Dialect, error) {
	if len(values) == 0 {
		return d, nil
	}
	changed := *d
	changed.settings = maps.Clone(d.settings)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := d.settings[name]; !ok {
			known := "it has none"
			if len(d.settings) > 0 {
				known = strings.TrimPrefix(near.Suggest(name, slices.Collect(maps.Keys(d.settings))), "; ")
			}
			return nil, fmt.Errorf("the document of %s has no setting %q: %s", d.Name, name, strings.TrimSpace(known))
		}
		changed.settings[name] = values[name]
	}
	return &changed, nil
}

// fillSettings returns text, a string of a template, with each {{set.NAME}} replaced with the value
// of the setting NAME. If d has no setting NAME, the placeholder remains.
func (d *Dialect) fillSettings(text string) string {
	return fillPlaceholders(text, func(name string) (string, bool) {
		setting, ok := strings.CutPrefix(name, "set.")
		value, known := d.settings[setting]
		return value, ok && known
	})
}
