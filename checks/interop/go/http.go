package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// As large as the file that other servers serve.
const largeBytes = 2_000_000

var (
	word  = []byte(`{"word":"moon"}`)
	large = append(bytes.Repeat([]byte("x"), largeBytes-3), "END"...)
)

type httpServer struct{ http.Server }

func newHTTP() server {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { w.Write(word) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { w.Write(large) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Write(body)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(500 * time.Millisecond)
		w.Write(word)
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-End")
		w.Write(word)
		w.(http.Flusher).Flush()
		w.Header().Set("X-End", "yes")
	})
	mux.HandleFunc("/packed", packed)
	mux.HandleFunc("/ws", talk)
	counted := func(w http.ResponseWriter, r *http.Request) {
		count(r.Proto + " " + r.URL.Path)
		mux.ServeHTTP(w, r)
	}
	own := &httpServer{http.Server{Handler: http.HandlerFunc(counted), IdleTimeout: *idle}}
	own.Protocols = new(http.Protocols)
	own.Protocols.SetHTTP1(true)
	own.Protocols.SetHTTP2(true)
	own.Protocols.SetUnencryptedHTTP2(true)
	return own
}

func (s *httpServer) serve(l net.Listener) {
	if *certFile == "" {
		s.Serve(l)
	} else {
		s.ServeTLS(l, *certFile, *keyFile)
	}
}

func (s *httpServer) retire() { s.Shutdown(context.Background()) }

func packed(w http.ResponseWriter, r *http.Request) {
	accepted := r.Header.Get("Accept-Encoding")
	body := []byte(`{"word":"moon","much":"` + strings.Repeat("much ", 500) + `"}`)
	var packer io.WriteCloser
	switch {
	case strings.Contains(accepted, "gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		packer = gzip.NewWriter(w)
	case strings.Contains(accepted, "deflate"):
		w.Header().Set("Content-Encoding", "deflate")
		packer, _ = flate.NewWriter(w, flate.DefaultCompression)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
		return
	}
	packer.Write(body)
	packer.Close()
}

// Answers each message by itself.
func talk(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 22)
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		count("message")
		if conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}
