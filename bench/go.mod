module github.com/streamassay/streamassay/bench

go 1.26.0
