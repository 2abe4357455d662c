#!/usr/bin/env node
// Starts the binary of this processor, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");

const name = `@SCOPE@/${process.platform}-${process.arch}`;
let program;
try {
    program = require.resolve(`${name}/bin/throng`);
} catch {
    console.error(
        `throng: the package ${name} is not installed. There are packages for Linux on x64 and arm64; if this is such a ` +
            "system, install without --omit=optional.",
    );
    process.exit(69);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
    console.error(`throng: ${program}: ${error.message}`);
    process.exit(71);
});
// A terminal sends these to all processes of the foreground: the second one would stop a run at once.
const isInTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
for (const signal of ["SIGINT", "SIGQUIT"]) {
    process.on(signal, () => isInTerminal || child.kill(signal));
}
for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
    process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
    if (signal === null) {
        process.exit(code);
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
});
