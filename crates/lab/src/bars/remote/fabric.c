/* libfabric baseline in C: `fabric PROVIDER SIZE TOTAL ROUNDS` serves memory from a child process and moves TOTAL
 * bytes in operations of SIZE bytes, waiting for each, by one-sided accesses of 128 KiB with 16 outstanding; it prints
 * the fastest rounds of reading and of writing in GB/s. Both sides poll the library continuously. */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 128 << 10, DEPTH = 16, NAME = 512 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        long code = (call);                                                                        \
        if (code < 0) {                                                                            \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, fi_strerror((int)-code));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct side {
    struct fi_info *info;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
};

struct ticket {
    uint64_t key, base;
    char name[NAME];
};

static struct side open_side(const char *provider)
{
    struct side side;
    struct fi_info *hints = fi_allocinfo();
    struct fid_fabric *fabric;
    hints->caps = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    int shm = strcmp(provider, "shm") == 0;
    CHECK(fi_getinfo(FI_VERSION(1, 11), shm ? NULL : "127.0.0.1", NULL,
                     shm ? 0 : FI_SOURCE | FI_NUMERICHOST, hints, &side.info));
    CHECK(fi_fabric(side.info->fabric_attr, &fabric, NULL));
    CHECK(fi_domain(fabric, side.info, &side.domain, NULL));
    struct fi_cq_attr cq = {.size = 256, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    CHECK(fi_cq_open(side.domain, &cq, &side.cq, NULL));
    struct fi_av_attr av = {.type = FI_AV_MAP, .count = 1};
    CHECK(fi_av_open(side.domain, &av, &side.av, NULL));
    CHECK(fi_endpoint(side.domain, side.info, &side.ep, NULL));
    CHECK(fi_ep_bind(side.ep, &side.av->fid, 0));
    CHECK(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT | FI_RECV));
    CHECK(fi_enable(side.ep));
    return side;
}

static int poll_one(struct side *side)
{
    struct fi_cq_entry entry;
    long got = fi_cq_read(side->cq, &entry, 1);
    if (got == -FI_EAGAIN)
        return 0;
    CHECK(got);
    return (int)got;
}

static void serve(const char *provider, size_t total, int to)
{
    struct side side = open_side(provider);
    struct ticket ticket = {0};
    struct fid_mr *mr;
    size_t length = NAME;
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(fi_mr_reg(side.domain, memory, total, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
    CHECK(fi_getname(&side.ep->fid, ticket.name, &length));
    ticket.key = fi_mr_key(mr);
    ticket.base = side.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)memory : 0;
    CHECK(write(to, &ticket, sizeof ticket));
    for (;;) {
        for (int i = 0; i < 32; i++)
            poll_one(&side);
        sched_yield();
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    size_t size = strtoull(argv[2], NULL, 0), total = strtoull(argv[3], NULL, 0);
    int rounds = atoi(argv[4]), ends[2];
    if (pipe(ends) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        serve(argv[1], total, ends[1]);
    close(ends[1]);
    struct ticket ticket;
    if (read(ends[0], &ticket, sizeof ticket) != sizeof ticket)
        return 1;
    struct side side = open_side(argv[1]);
    fi_addr_t peer;
    CHECK(fi_av_insert(side.av, ticket.name, 1, &peer, 0, NULL) == 1 ? 0 : -FI_EINVAL);
    char *buffer = malloc(size);
    memset(buffer, 1, size);
    struct fid_mr *mr = NULL;
    if (side.info->domain_attr->mr_mode & FI_MR_LOCAL)
        CHECK(fi_mr_reg(side.domain, buffer, size, FI_READ | FI_WRITE, 0, 1, 0, &mr, NULL));
    void *desc = mr ? fi_mr_desc(mr) : NULL;
    static struct fi_context2 contexts[DEPTH];
    for (int way = 0; way < 2; way++) {
        double best = 1e9;
        for (int round = 0; round < rounds; round++) {
            double since = now();
            for (size_t at = 0; at < total; at += size) {
                size_t posted = 0;
                int under_way = 0;
                unsigned next = 0;
                while (posted < size || under_way > 0) {
                    while (posted < size && under_way < DEPTH) {
                        size_t piece = size - posted < PIECE ? size - posted : PIECE;
                        void *context = &contexts[next % DEPTH];
                        long code = way ? fi_write(side.ep, buffer + posted, piece, desc, peer,
                                                   ticket.base + at + posted, ticket.key, context)
                                        : fi_read(side.ep, buffer + posted, piece, desc, peer,
                                                  ticket.base + at + posted, ticket.key, context);
                        if (code == -FI_EAGAIN)
                            break;
                        CHECK(code);
                        posted += piece;
                        under_way++;
                        next++;
                    }
                    int done = poll_one(&side);
                    under_way -= done;
                    if (!done)
                        sched_yield();
                }
            }
            double took = now() - since;
            if (took < best)
                best = took;
        }
        printf("%.9f\n", (double)total / best * 1e-9);
    }
    kill(child, SIGKILL);
    return 0;
}
