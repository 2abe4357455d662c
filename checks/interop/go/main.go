// Servers of Go: net/http with a WebSocket of coder/websocket, or the interoperability service of grpc-go.
//
//	interop http|grpc [-cert FILE -key FILE] [-idle DURATION]
//
// It prints its port. A line on standard input is answered by a line of JSON: `counts` by what was served so far;
// `restart` once another server has replaced this one on the port, which then ends its connections in good order.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// A server that takes connections from a listener until it is retired.
type server interface {
	serve(net.Listener)
	// It takes no more, ends those that it has in good order, and returns when they have ended.
	retire()
}

var (
	certFile = flag.String("cert", "", "the certificate; without it there is no TLS")
	keyFile  = flag.String("key", "", "its private key")
	idle     = flag.Duration("idle", time.Minute, "how long an idle connection is kept")
)

// What was served, by name.
var counts = struct {
	sync.Mutex
	byName map[string]int
}{byName: map[string]int{}}

func count(name string) {
	counts.Lock()
	defer counts.Unlock()
	counts.byName[name]++
}

// Hands the connections of one listener to whichever server is the present one.
type hub struct {
	net.Listener
	accepted chan net.Conn
}

func (h *hub) run() {
	for {
		conn, err := h.Listener.Accept()
		if err != nil {
			return
		}
		h.accepted <- conn
	}
}

// The listener of one server. Its end is not that of the port.
type share struct {
	*hub
	once sync.Once
	end  chan struct{}
}

func (s *share) Accept() (net.Conn, error) {
	select {
	case <-s.end:
		return nil, net.ErrClosed
	case conn := <-s.accepted:
		return conn, nil
	}
}

func (s *share) Close() error {
	s.once.Do(func() { close(s.end) })
	return nil
}

func main() {
	kind := os.Args[1]
	flag.CommandLine.Parse(os.Args[2:])
	start := map[string]func() server{"http": newHTTP, "grpc": newGRPC}[kind]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	all := &hub{Listener: listener, accepted: make(chan net.Conn)}
	go all.run()
	begin := func() server {
		present := start()
		go present.serve(&share{hub: all, end: make(chan struct{})})
		return present
	}
	present := begin()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "restart" {
			earlier := present
			present = begin()
			go earlier.retire()
		}
		counts.Lock()
		text, _ := json.Marshal(counts.byName)
		counts.Unlock()
		fmt.Println(string(text))
	}
}
