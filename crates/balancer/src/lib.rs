//! A load balancer for HTTP/1.1, its policies, and a simulator of both.
