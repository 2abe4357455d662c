package main

import (
	"context"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/interop"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

type grpcServer struct{ *grpc.Server }

// The service of grpc-go's interoperability tests. It ignores what a request says about compression; interceptors
// see to that.
func newGRPC() server {
	options := []grpc.ServerOption{
		grpc.StatsHandler(watcher{}),
		grpc.UnaryInterceptor(compress),
		grpc.StreamInterceptor(inspect),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: *idle, MaxConnectionAgeGrace: time.Minute}),
	}
	if *certFile != "" {
		own, err := credentials.NewServerTLSFromFile(*certFile, *keyFile)
		if err != nil {
			panic(err)
		}
		options = append(options, grpc.Creds(own))
	}
	own := grpc.NewServer(options...)
	pb.RegisterTestServiceServer(own, interop.NewTestServer())
	return &grpcServer{own}
}

func (s *grpcServer) serve(l net.Listener) { s.Serve(l) }
func (s *grpcServer) retire()              { s.GracefulStop() }

func compress(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	own, ok := request.(*pb.SimpleRequest)
	if !ok {
		return handle(ctx, request)
	}
	if err := check(ctx, own); err != nil {
		return nil, err
	}
	if wanted := own.GetResponseCompressed(); wanted != nil {
		compressor := map[bool]string{true: "gzip", false: "identity"}[wanted.Value]
		if err := grpc.SetSendCompressor(ctx, compressor); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
	}
	return handle(ctx, request)
}

// A request that may say whether it is compressed.
type telling interface{ GetExpectCompressed() *pb.BoolValue }

func check(ctx context.Context, request telling) error {
	call := ctx.Value(key{}).(*call)
	if expected := request.GetExpectCompressed(); expected != nil && expected.Value != call.isCompressed {
		return status.Error(codes.InvalidArgument, "the request's compression is not as it says")
	}
	return nil
}

// Messages of a stream are looked at when they are received.
type inspected struct{ grpc.ServerStream }

func (s inspected) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	if own, ok := message.(telling); ok {
		return check(s.Context(), own)
	}
	return nil
}

func inspect(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return handle(service, inspected{stream})
}

type key struct{}

// What is known of a call.
type call struct {
	method       string
	isCompressed bool
}

// Counts calls, by how they end, and messages.
type watcher struct{}

func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (watcher) HandleConn(context.Context, stats.ConnStats)                       {}

func (watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	method := info.FullMethodName[strings.LastIndex(info.FullMethodName, "/")+1:]
	return context.WithValue(ctx, key{}, &call{method: method})
}

func (watcher) HandleRPC(ctx context.Context, event stats.RPCStats) {
	own := ctx.Value(key{}).(*call)
	switch event := event.(type) {
	case *stats.InPayload:
		own.isCompressed = event.CompressedLength != event.Length
		count(own.method + " received")
	case *stats.OutPayload:
		if event.CompressedLength != event.Length {
			count(own.method + " compressed")
		}
	case *stats.End:
		count(own.method + " " + status.Code(event.Error).String())
	}
}
