# A fleet at Hetzner Cloud: a machine with NATS, from which runs are started, and agents. They meet in a private
# network; nothing but SSH is reached from outside. docs/deploying.md shows how it is used.

terraform {
  required_version = ">= 1.6"
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.48"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.6"
    }
  }
}

# The token is in the environment: HCLOUD_TOKEN.
provider "hcloud" {}

# Letters and digits: it is part of a URL.
resource "random_password" "nats" {
  length  = 32
  special = false
}

locals {
  head_address = "10.87.0.2"
  nats_url     = "nats://throng:${random_password.nats.result}@${local.head_address}:4222"
  release = {
    throng_version  = var.throng_version
    throng_download = var.throng_download
  }
}

resource "hcloud_ssh_key" "fleet" {
  name       = "${var.name}-fleet"
  public_key = file(pathexpand(var.ssh_public_key))
}

resource "hcloud_network" "fleet" {
  name     = "${var.name}-fleet"
  ip_range = "10.87.0.0/16"
}

resource "hcloud_network_subnet" "fleet" {
  network_id   = hcloud_network.fleet.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = "10.87.0.0/20"
}

# Private networks are not filtered: it is for what comes from outside.
resource "hcloud_firewall" "fleet" {
  name = "${var.name}-fleet"
  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.ssh_from
  }
}

resource "hcloud_server" "head" {
  name         = "${var.name}-head"
  image        = "debian-12"
  server_type  = var.head_type
  location     = var.location
  ssh_keys     = [hcloud_ssh_key.fleet.id]
  firewall_ids = [hcloud_firewall.fleet.id]
  user_data = templatefile("${path.module}/../cloud-init/head.yaml", merge(local.release, {
    nats_password = random_password.nats.result
  }))

  network {
    network_id = hcloud_network.fleet.id
    ip         = local.head_address
  }
  depends_on = [hcloud_network_subnet.fleet]
}

# On different hosts of the provider, ten at most in a group.
resource "hcloud_placement_group" "agents" {
  count = ceil(var.agents / 10)
  name  = "${var.name}-agents-${count.index}"
  type  = "spread"
}

resource "hcloud_server" "agent" {
  count              = var.agents
  name               = "${var.name}-agent-${count.index}"
  image              = "debian-12"
  server_type        = var.agent_type
  location           = var.location
  ssh_keys           = [hcloud_ssh_key.fleet.id]
  firewall_ids       = [hcloud_firewall.fleet.id]
  placement_group_id = hcloud_placement_group.agents[floor(count.index / 10)].id
  user_data = templatefile("${path.module}/../cloud-init/agent.yaml", merge(local.release, {
    nats_url      = local.nats_url
    agent_options = "--label region=${var.location}"
  }))

  network {
    network_id = hcloud_network.fleet.id
  }
  depends_on = [hcloud_network_subnet.fleet]
}
