/* Stands in for Throng where packages are tried and not what is in them (rehearse.sh): it prints what smoke.py reads. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words)
{
    char ignored[256];
    const char *verb = count > 1 ? words[1] : "";

    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        puts("throng " VERSION);
    } else if (strcmp(verb, "serve") == 0) {
        puts("listening on http://127.0.0.1:1");
        fflush(stdout);
        while (read(0, ignored, sizeof ignored) > 0) {
        }
    } else if (strcmp(verb, "run") == 0) {
        puts("{\"findings\": [], \"measures\": [{\"kind\": \"request\", \"count\": 1, \"errors\": 0}]}");
    } else {
        return 64;
    }
    return 0;
}
