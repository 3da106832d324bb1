# Sourced first by the scripts: `--help` prints the comment that a script begins with, and ends it.

case "${1:-}" in
  -h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
