package dialect

import (
	"slices"
	"testing"
)

// TestResponseDefectsInNestedParts checks that ResponseDefects finds the locations in each variant
// of a part inside a part, here in each type of content of the messages in a response.
func TestResponseDefectsInNestedParts(t *testing.T) {
	for _, x := range dialects(t, "agentscope@1.1").ResponseDefects() {
		if x.Requirement != "agentscope.content-payload" || x.Kind != MissingMember {
			continue
		}
		for _, member := range []string{"text", "image_url", "video_url", "data", "refusal"} {
			if at := "/output/*/content/*/" + member; !slices.Contains(x.Locations, at) {
				t.Errorf("%s is not among %v", at, x.Locations)
			}
		}
		return
	}
	t.Error("the requirement has no defect")
}
