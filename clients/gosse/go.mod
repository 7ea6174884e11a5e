module github.com/streamassay/streamassay/clients/gosse

go 1.26.0

require github.com/tmaxmax/go-sse v0.11.0
