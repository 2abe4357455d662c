variable "name" {
  description = "Prefix of all names."
  type        = string
  default     = "throng"
}

variable "agents" {
  description = "Number of agents."
  type        = number
  default     = 4
  validation {
    condition     = var.agents >= 1 && var.agents <= 100 && floor(var.agents) == var.agents
    error_message = "A private network holds 100 machines here: 1 to 100 agents."
  }
}

variable "throng_version" {
  description = "The version of Throng on all machines, such as 0.3.0."
  type        = string
}

variable "throng_download" {
  description = "The address of Throng's releases, without the version."
  type        = string
}

variable "ssh_public_key" {
  description = "The file with your public key."
  type        = string
  default     = "~/.ssh/id_ed25519.pub"
}

variable "ssh_from" {
  description = "Who may reach SSH, as networks: [\"198.51.100.7/32\"]."
  type        = list(string)
}

variable "location" {
  description = "Where the machines are."
  type        = string
  default     = "fsn1"
}

variable "network_zone" {
  description = "The zone of that location."
  type        = string
  default     = "eu-central"
}

variable "agent_type" {
  description = "Type of an agent's machine: dedicated cores measure better than shared ones."
  type        = string
  default     = "ccx13"
}

variable "head_type" {
  description = "Type of the machine with NATS and the controller."
  type        = string
  default     = "ccx13"
}
