"""Recipes that fetch the archives of a release by checksum: a formula of Homebrew and a flake of Nix, both for Linux."""

import base64
import hashlib

FORMULA = """\
# Throng for Homebrew on Linux. Written by `make dist`.
class Throng < Formula
  desc "Load-testing laboratory for real-time systems"
  homepage "{url}"
  version "{version}"
  license "Apache-2.0"
  depends_on :linux

{sources}
  def install
    bin.install "throng"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/throng.bash" => "throng"
    zsh_completion.install "completions/_throng"
    fish_completion.install "completions/throng.fish"
    pkgshare.install "ci"
    doc.install "CHANGELOG.md", "THIRD-PARTY-LICENSES"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/throng -V")
    system bin/"throng", "new", "--output", "first.yaml"
    system bin/"throng", "check", "first.yaml"
  end
end
"""
SOURCE = """\
  on_{processor} do
    url "{url}"
    sha256 "{digest}"
  end
"""
PROCESSORS = {"amd64": "intel", "arm64": "arm"}

FLAKE = """\
# Throng for Nix on Linux: `nix run URL-OF-THE-ARCHIVE -- run http://127.0.0.1:8080/`. Written by `make dist`.
{{
  description = "Load-testing laboratory for real-time systems";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs =
    {{ self, nixpkgs }}:
    let
      version = "{version}";
      sources = {{
{sources}
      }};
      package =
        system:
        let
          pkgs = nixpkgs.legacyPackages.${{system}};
        in
        pkgs.stdenvNoCC.mkDerivation {{
          pname = "throng";
          inherit version;
          src = pkgs.fetchurl sources.${{system}};
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The binary is static.
          dontFixup = true;
          installPhase = ''
            install -D throng $out/bin/throng
            installManPage man/*.1
            installShellCompletion --bash --name throng completions/throng.bash
            installShellCompletion --zsh completions/_throng
            installShellCompletion --fish completions/throng.fish
            mkdir -p $out/share/throng
            cp -r ci $out/share/throng/ci
          '';
          meta = {{
            homepage = "{url}";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "throng";
            platforms = builtins.attrNames sources;
          }};
        }};
    in
    {{
      packages = builtins.mapAttrs (system: _: {{ default = package system; }}) sources;
    }};
}}
"""
FLAKE_SOURCE = """\
        "{system}" = {{
          url = "{url}";
          hash = "sha256-{digest}";
        }};"""
SYSTEMS = {"amd64": "x86_64-linux", "arm64": "aarch64-linux"}


def address(names, version, file):
    return f"{names['repository']['download']}/v{version}/{file}"


def formula(archives, names):
    """The formula, of (program, name and bytes of its tar)."""
    version = archives[0][0].version
    sources = [
        SOURCE.format(
            processor=PROCESSORS[what.architecture],
            url=address(names, version, name),
            digest=hashlib.sha256(data).hexdigest(),
        )
        for what, name, data in archives
    ]
    text = FORMULA.format(url=names["repository"]["url"], version=version, sources="\n".join(sources))
    return text.encode()


def flake(archives, names):
    """The flake, of the same."""
    version = archives[0][0].version
    sources = [
        FLAKE_SOURCE.format(
            system=SYSTEMS[what.architecture],
            url=address(names, version, name),
            digest=base64.b64encode(hashlib.sha256(data).digest()).decode(),
        )
        for what, name, data in archives
    ]
    text = FLAKE.format(url=names["repository"]["url"], version=version, sources="\n".join(sources))
    return text.encode()
