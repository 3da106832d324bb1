# Sourced first by the scripts: `--help` prints the comment at the head of the script, and exits.

case "${1:-}" in
  -h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
