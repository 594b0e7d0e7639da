package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"lab"
)

// httpServer answers one document, by net/http with a handler on its multiplexer.
func httpServer() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/" {
			http.NotFound(response, request)
			return
		}
		header := response.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Token", request.Header.Get("Token"))
		// An error is one of the client.
		io.WriteString(response, `{"id": 1}`)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	lab.StopWithTheLab()
	fmt.Println("READY", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, mux))
}
