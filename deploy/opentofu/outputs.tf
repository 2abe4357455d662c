output "head" {
  description = "The machine from which runs are started: ssh root@ADDRESS."
  value       = hcloud_server.head.ipv4_address
}

output "nats_url" {
  description = "NATS, as the head and the agents reach it."
  value       = local.nats_url
  sensitive   = true
}
