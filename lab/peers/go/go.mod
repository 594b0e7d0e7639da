module peer

go 1.25

require lab v0.0.0

replace lab => ../go-common
