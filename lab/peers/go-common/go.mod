module lab

go 1.25
