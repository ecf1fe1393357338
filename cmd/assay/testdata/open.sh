# An open model passes, or this machine kept the driver from its schedule for a second.
said=$(assay load "$@")
code=$?
printf '%s\n' "$said"
case $code in
5) printf '%s' "$said" | tr -s '\n ' '  ' | grep -q 'driver could not keep its schedule' ;;
*) exit $code ;;
esac
