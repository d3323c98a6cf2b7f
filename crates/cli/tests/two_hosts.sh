# Two hosts, as two network namespaces with a cable between them: memory of one, kernels on the other.
#
#   two_hosts.sh TOMBOLO     in an empty folder, in a network namespace of its own, as its root
#
# This shell is the first host, 10.77.0.1; the second, 10.77.0.2, is a child in another namespace. Both end with it.
set -eu
tombolo=$1

mkfifo cabled
unshare --net sh -c 'echo $$ >second; read word <cabled; exec "$1" serve memory --listen 10.77.0.2:7010' \
  sh "$tombolo" >address &
trap 'kill $(cat second)' EXIT
until [ -s second ]; do sleep 0.01; done
there() { nsenter --net --target "$(cat second)" "$@"; }

ip link add one type veth peer name two netns "$(cat second)"
ip address add 10.77.0.1/24 dev one
ip link set one up
there ip address add 10.77.0.2/24 dev two
there ip link set two up
there ip link set lo up

head -c 100003 /dev/urandom >data
truncate -s 200000 memory
echo now >cabled
until grep -q 'remote:10.77.0.2:7010' address; do sleep 0.01; done

run() { "$tombolo" run loopback --quiet "$@"; }
# at OFFSET: the data are in the other host's file, from there on
at() { tail -c "+$(($1 + 1))" memory | head -c 100003 | cmp - data >&2; }

run --functional --connect in=file:data --connect out=remote:10.77.0.2:7010@100
at 100
run --functional --connect in=remote:10.77.0.2:7010@100+100003 --connect out=file:back:new=100003
cmp back data >&2
run --platform u280 --connect in=file:data --connect out=net:10.77.0.2:7010@7
at 7
if run --functional --connect in=file:data --connect out=remote:fabric+tcp://10.77.0.2:7010@31 2>told; then
  at 31
else
  grep 'libfabric is not on this machine' told >without || { cat told >&2; exit 1; }
fi

# The cable is pulled while a kernel is connected: an error that names the peer. Then it is put back.
mkfifo slow
run --functional --connect in=pipe:slow --connect out=remote:10.77.0.2:7010 2>told &
kernel=$!
exec 3>slow
head -c 70000 data >&3
there ip link set two down
tail -c +70001 data >&3
exec 3>&-
if wait $kernel; then echo "no error over a pulled cable" >&2; exit 1; fi
grep -q '10.77.0.2:7010' told || { cat told >&2; exit 1; }
there ip link set two up
run --functional --connect in=file:data --connect out=remote:10.77.0.2:7010@99997
at 99997
[ ! -s without ] || cat without
