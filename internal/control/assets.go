package control

import (
	"embed"
	"net/http"
	"net/url"
)

// assets holds the templates, the script and the style sheet of the HTML pages.
//
//go:embed page.js page.css page.html exchange.html parts.html
var assets embed.FS

// serveAsset returns a handler that responds with the embedded file called name. The argument media
// is the media type of the response.
func serveAsset(name, media string) routeHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, query url.Values) error {
		data, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		writeBody(w, http.StatusOK, media, data)
		return nil
	}
}
