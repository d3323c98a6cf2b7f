/* Wrong calls of every kind: bad_input KERNEL_FOLDER FILE. Each must give its status, and change nothing. */
#define _POSIX_C_SOURCE 200809L
#include <fsrf_tombolo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int failures;

static void expect(int line, tmb_status given, tmb_status wanted)
{
    if (given == wanted) return;
    failures++;
    fprintf(stderr, "line %d: %s instead of %s: %s\n", line, tmb_status_name(given),
            tmb_status_name(wanted), tmb_last_error());
}

static void so(int line, int condition, const char *text)
{
    if (condition) return;
    failures++;
    fprintf(stderr, "line %d: not so: %s (%s)\n", line, text, tmb_last_error());
}

#define EXPECT(call, wanted) expect(__LINE__, (call), (wanted))
#define TRUE(condition) so(__LINE__, (condition), #condition)

size_t tmb_layout(int what);

/* Striped spaces, schedules, several kernels waited for. */
static void several(const char *kernel)
{
    tmb_card_options options = TMB_CARD_OPTIONS;
    tmb_card *card = NULL;
    tmb_space *space = NULL, *none = NULL;
    tmb_memory *memory = NULL;
    tmb_slot *slots[2] = { NULL, NULL };
    void *start = NULL;
    size_t place = 7;
    options.slots = 2;
    EXPECT(tmb_card_open_functional(&options, &card), TMB_OK);
    tmb_space_options striped = TMB_SPACE_OPTIONS;
    striped.stripe_channels = 3;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_ARGUMENT);
    striped.stripe_channels = 8;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_PAGER);
    striped.stripe_channels = 2;
    striped.on_channel = 1;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_ARGUMENT);
    striped.on_channel = 0;
    striped.translation = 3;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_ARGUMENT);
    striped.translation = TMB_TRANSLATE_TLB;
    striped.reserved = 1;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_ARGUMENT);
    striped.reserved = 0;
    tmb_space *by_tlb = NULL;
    EXPECT(tmb_space_create(card, &striped, &by_tlb), TMB_OK);
    EXPECT(tmb_space_close(by_tlb), TMB_OK);
    striped.stripe_granule = 100;
    EXPECT(tmb_space_create(card, &striped, &none), TMB_ERROR_ARGUMENT);
    striped.stripe_granule = 64;
    EXPECT(tmb_space_create(card, &striped, &space), TMB_OK);
    EXPECT(tmb_memory_alloc(space, 1 << 24, 0, &memory), TMB_OK);
    EXPECT(tmb_memory_pointer(memory, &start), TMB_OK);
    for (uint32_t number = 0; number < 2; number++) {
        EXPECT(tmb_slot_load(card, number, kernel, space, &slots[number]), TMB_OK);
        EXPECT(tmb_slot_set(slots[number], "input", (uint64_t)(uintptr_t)start), TMB_OK);
        EXPECT(tmb_slot_set(slots[number], "output", (uint64_t)(uintptr_t)start), TMB_OK);
        EXPECT(tmb_slot_set(slots[number], "bytes", number == 0 ? 1 << 24 : 64), TMB_OK);
    }
    tmb_schedule_options schedule = TMB_SCHEDULE_OPTIONS;
    schedule.priority = TMB_PRIORITY_HIGH;
    schedule.weight = 3;
    EXPECT(tmb_slot_set_schedule(slots[1], &schedule), TMB_OK);
    EXPECT(tmb_slot_set_schedule(slots[0], NULL), TMB_OK);
    schedule.weight = 16;
    EXPECT(tmb_slot_set_schedule(slots[1], &schedule), TMB_ERROR_SCHEDULE);
    schedule.weight = 256 + 1;
    EXPECT(tmb_slot_set_schedule(slots[1], &schedule), TMB_ERROR_SCHEDULE);
    schedule.weight = 0;
    schedule.priority = 4;
    EXPECT(tmb_slot_set_schedule(slots[1], &schedule), TMB_ERROR_ARGUMENT);
    schedule.priority = 0;
    schedule.reserved = 1;
    EXPECT(tmb_slot_set_schedule(slots[1], &schedule), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_card_wait_any(card, (tmb_slot *const *)slots, 2, 0, &place), TMB_ERROR_SLOT_STATE);
    EXPECT(tmb_slot_start(slots[0]), TMB_OK);
    EXPECT(tmb_slot_start(slots[1]), TMB_OK);
    EXPECT(tmb_card_wait_any(card, (tmb_slot *const *)slots, 2, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_card_wait_any(card, NULL, 2, 0, &place), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_card_wait_any(card, (tmb_slot *const *)slots, 0, 0, &place), TMB_ERROR_ARGUMENT);
    tmb_slot *wrong[1] = { (tmb_slot *)(void *)card };
    EXPECT(tmb_card_wait_any(card, (tmb_slot *const *)wrong, 1, 0, &place), TMB_ERROR_HANDLE);
    TRUE(place == 7);
    EXPECT(tmb_card_wait_any(card, (tmb_slot *const *)slots, 2, 0, &place), TMB_OK);
    TRUE(place == 1);
    EXPECT(tmb_slot_wait(slots[1], NULL), TMB_OK);
    EXPECT(tmb_slot_wait(slots[0], NULL), TMB_OK);
    EXPECT(tmb_card_close(card), TMB_OK);
    EXPECT(tmb_memory_free(memory), TMB_OK);
}

/* A card that is not coherent, and what no range of lines is. */
static void coherent(tmb_card *card)
{
    tmb_coherent *lines = NULL;
    unsigned char line[TMB_LINE_BYTES] = { 0 };
    EXPECT(tmb_coherent_open(card, 0, 100, 0, &lines), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_open(card, 0, 128, 256, &lines), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_coherent_open(card, 0, 128, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_coherent_open_home(card, 0, &lines), TMB_ERROR_CARD);
    EXPECT(tmb_coherent_open(card, 0, 256, 0, &lines), TMB_OK);
    EXPECT(tmb_coherent_load(lines, 0, 0, line), TMB_ERROR_CARD);
    TRUE(strstr(tmb_last_error(), "not coherent") != NULL);
    EXPECT(tmb_coherent_load(lines, 64, 0, line), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_load(lines, 256, 1, line), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_load(lines, 0, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_coherent_store(lines, 120, line, 16), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_store(lines, 0, line, 0), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_store(lines, 0, NULL, 1), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_coherent_prefetch(lines, 1), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_flush(lines, 1), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_clean(lines, 1), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_load((tmb_coherent *)card, 0, 0, line), TMB_ERROR_HANDLE);

    /* Outstanding operations of a core. */
    tmb_access *access = NULL;
    tmb_write_buffer *buffer = NULL;
    tmb_rpc *rpc = NULL;
    tmb_rpc_lines *many = NULL;
    EXPECT(tmb_coherent_begin_load(lines, 64, 0, &access), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_begin_load(lines, 0, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_coherent_begin_store(lines, 120, line, 16, &access), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_coherent_begin_store(lines, 0, NULL, 1, &access), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_access_wait(NULL, line), TMB_ERROR_HANDLE);
    EXPECT(tmb_access_close((tmb_access *)lines), TMB_ERROR_HANDLE);
    EXPECT(tmb_rpc_connect(lines, 1, 0, &rpc), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_rpc_connect(lines, 0, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_rpc_connect(lines, 0, 0, &rpc), TMB_ERROR_CARD);
    EXPECT(tmb_rpc_call(NULL, NULL, 0, line), TMB_ERROR_HANDLE);
    EXPECT(tmb_rpc_lines_connect(lines, &many), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_rpc_lines_call(NULL, NULL, 0, NULL, 1, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_write_buffer_open(lines, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_write_buffer_open(lines, &buffer), TMB_OK);
    EXPECT(tmb_write_buffer_store(buffer, 120, line, 16), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_write_buffer_store(buffer, 0, NULL, 1), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_write_buffer_store(buffer, 0, line, 1), TMB_ERROR_CARD);
    EXPECT(tmb_write_buffer_flush(buffer, 1), TMB_ERROR_COHERENT_RANGE);
    EXPECT(tmb_write_buffer_fence(buffer), TMB_OK);
    EXPECT(tmb_write_buffer_close(buffer), TMB_OK);
    EXPECT(tmb_write_buffer_close(buffer), TMB_ERROR_GONE);
    EXPECT(tmb_coherent_close(lines), TMB_OK);
    EXPECT(tmb_coherent_close(lines), TMB_ERROR_GONE);
    EXPECT(tmb_coherent_prefetch(lines, 0), TMB_ERROR_GONE);
}

static void layouts(void)
{
    TRUE(tmb_layout(0) == sizeof(tmb_card_options));
    TRUE(tmb_layout(1) == sizeof(tmb_space_options));
    TRUE(tmb_layout(2) == sizeof(tmb_map_options));
    TRUE(tmb_layout(3) == sizeof(tmb_wait_options));
    TRUE(tmb_layout(4) == sizeof(tmb_progress));
    TRUE(tmb_layout(5) == sizeof(tmb_schedule_options));
    TRUE(tmb_layout(6) == sizeof(tmb_lines_answer));
}

static void options(void)
{
    tmb_card *card = NULL;
    EXPECT(tmb_card_open_functional(NULL, NULL), TMB_ERROR_ARGUMENT);
    tmb_card_options wrong = TMB_CARD_OPTIONS;
    wrong.size = 0;
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    TRUE(strstr(tmb_last_error(), "initializer") != NULL);
    wrong = (tmb_card_options)TMB_CARD_OPTIONS;
    wrong.page_size = 1000;
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong = (tmb_card_options)TMB_CARD_OPTIONS;
    wrong.slots = 1000;
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong = (tmb_card_options)TMB_CARD_OPTIONS;
    wrong.platform = "f1";
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong = (tmb_card_options)TMB_CARD_OPTIONS;
    wrong.preset = "coyote-2m";
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong.preset = "coyote";
    EXPECT(tmb_card_open_simulated(&wrong, &card), TMB_ERROR_ARGUMENT);
    TRUE(strstr(tmb_last_error(), "coyote-2m") != NULL);
    wrong.preset = "physical";
    EXPECT(tmb_card_open_simulated(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong.preset = NULL;
    wrong.platform = "/no/such/platform.toml";
    EXPECT(tmb_card_open_simulated(&wrong, &card), TMB_ERROR_CONFIGURATION);
    TRUE(card == NULL);

    /* A program for a newer library: fine while what this one does not know is zero. */
    struct { tmb_card_options known; uint64_t later; } newer = { TMB_CARD_OPTIONS, 0 };
    newer.known.size = sizeof newer;
    EXPECT(tmb_card_open_functional(&newer.known, &card), TMB_OK);
    EXPECT(tmb_card_close(card), TMB_OK);
    newer.later = 1;
    EXPECT(tmb_card_open_functional(&newer.known, &card), TMB_ERROR_ARGUMENT);
    /* And one for an older library, which knew only the first fields. */
    struct { size_t size; uint32_t slots, cold; } older = { sizeof older, 2, 0 };
    EXPECT(tmb_card_open_functional((const tmb_card_options *)(void *)&older, &card), TMB_OK);
    EXPECT(tmb_card_close(card), TMB_OK);
}

static void handles(const char *kernel, const char *file)
{
    tmb_card *card, *other;
    tmb_space *space, *foreign;
    tmb_mapping *mapping, *again;
    tmb_slot *slot, *later;
    char *text;
    uint64_t number;
    int somewhere = 0;

    EXPECT(tmb_card_close(NULL), TMB_ERROR_HANDLE);
    EXPECT(tmb_card_close((tmb_card *)(void *)&somewhere), TMB_ERROR_HANDLE);
    EXPECT(tmb_card_open_functional(NULL, &card), TMB_OK);
    EXPECT(tmb_card_open_functional(NULL, &other), TMB_OK);
    EXPECT(tmb_space_create(card, NULL, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_space_create(card, NULL, &space), TMB_OK);
    EXPECT(tmb_space_create(other, NULL, &foreign), TMB_OK);
    EXPECT(tmb_space_close((tmb_space *)(void *)card), TMB_ERROR_HANDLE);

    tmb_map_options map = TMB_MAP_OPTIONS;
    EXPECT(tmb_map_file(space, NULL, NULL, &mapping), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_map_file(space, "/no/such/file", NULL, &mapping), TMB_ERROR_FILE);
    TRUE(tmb_last_errno() == 2);
    EXPECT(tmb_map_file(space, "/", NULL, &mapping), TMB_ERROR_UNMAPPABLE);
    EXPECT(tmb_map_file(space, "\xff", NULL, &mapping), TMB_ERROR_ARGUMENT);
    /* A stream without a number of bytes, and with one. */
    EXPECT(tmb_map_file(space, "pipe:/dev/zero", &map, &mapping), TMB_ERROR_UNMAPPABLE);
    map.bytes = 4096;
    EXPECT(tmb_map_file(space, "pipe:/dev/zero", &map, &mapping), TMB_OK);
    EXPECT(tmb_mapping_unmap(mapping), TMB_OK);
    mapping = NULL;
    map.bytes = 0;
    map.access = 7;
    EXPECT(tmb_map_file(space, file, &map, &mapping), TMB_ERROR_ARGUMENT);
    map.access = TMB_READ;
    map.create = 1;
    EXPECT(tmb_map_file(space, file, &map, &mapping), TMB_ERROR_ARGUMENT);
    map.access = TMB_READ_WRITE;
    map.create_bytes = 100;
    /* A card without a way to host memory. */
    map.direct = 1;
    EXPECT(tmb_map_file(space, file, &map, &mapping), TMB_ERROR_UNMAPPABLE);
    map.direct = 0;
    EXPECT(tmb_map_file(space, file, &map, NULL), TMB_ERROR_ARGUMENT);
    TRUE(access(file, F_OK) != 0);
    EXPECT(tmb_map_file(space, file, &map, &mapping), TMB_OK);
    EXPECT(tmb_mapping_bytes(mapping, &number), TMB_OK);
    TRUE(number == 100);
    EXPECT(tmb_mapping_address(mapping, NULL), TMB_ERROR_ARGUMENT);

    /* In memory that the card does not have; and no memory. */
    tmb_map_options placed = TMB_MAP_OPTIONS;
    placed.memory = 3;
    EXPECT(tmb_map_file(space, file, &placed, &again), TMB_ERROR_ARGUMENT);
    TRUE(strstr(tmb_last_error(), "TMB_MEMORY_HBM") != NULL);
    placed.memory = TMB_MEMORY_ANY;
    placed.file_state = 3;
    EXPECT(tmb_map_file(space, file, &placed, &again), TMB_ERROR_ARGUMENT);
    TRUE(strstr(tmb_last_error(), "TMB_FILE_COLD") != NULL);
    placed.file_state = TMB_FILE_COLD;
    placed.holes = 1;
    placed.memory = TMB_MEMORY_HBM;
    EXPECT(tmb_map_file(space, "/proc/self/exe", &placed, &again), TMB_ERROR_UNMAPPABLE);
    TRUE(strstr(tmb_last_error(), "hbm") != NULL);
    EXPECT(tmb_map_file(space, "net:127.0.0.1:1", NULL, &again), TMB_ERROR_UNMAPPABLE);
    TRUE(strstr(tmb_last_error(), "stream ports") != NULL);

    EXPECT(tmb_slot_load(card, 0, "/no/kernel", space, &slot), TMB_ERROR_KERNEL);
    EXPECT(tmb_slot_load(card, 9, kernel, space, &slot), TMB_ERROR_NO_SUCH_SLOT);
    EXPECT(tmb_slot_load(card, 999, kernel, space, &slot), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_load(card, 0, kernel, foreign, &slot), TMB_ERROR_OTHER_CARD);
    EXPECT(tmb_slot_load(card, 0, kernel, space, &slot), TMB_OK);
    {
        /* The kernel of one space, the mapping of another: its address means other bytes. */
        tmb_space *second;
        EXPECT(tmb_space_create(card, NULL, &second), TMB_OK);
        EXPECT(tmb_map_file(second, file, NULL, &again), TMB_OK);
        EXPECT(tmb_slot_set_mapping(slot, "input", again), TMB_ERROR_OTHER_SPACE);
        TRUE(strstr(tmb_last_error(), "another address space") != NULL);
        EXPECT(tmb_space_close(second), TMB_OK);
        EXPECT(tmb_map_file(foreign, file, NULL, &again), TMB_OK);
        EXPECT(tmb_slot_set_mapping(slot, "input", again), TMB_ERROR_OTHER_CARD);
        EXPECT(tmb_slot_set_mapping(slot, "input", (tmb_mapping *)(void *)space), TMB_ERROR_HANDLE);
        EXPECT(tmb_slot_set_mapping(slot, NULL, mapping), TMB_ERROR_ARGUMENT);
        EXPECT(tmb_slot_set_mapping(slot, "nothing", mapping), TMB_ERROR_NO_SUCH_ARGUMENT);
        EXPECT(tmb_slot_set_mapping(slot, "input", mapping), TMB_OK);
    }
    EXPECT(tmb_slot_set(slot, "nothing", 1), TMB_ERROR_NO_SUCH_ARGUMENT);
    EXPECT(tmb_slot_set(slot, NULL, 1), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_set_bytes(slot, "bytes", "abc", 3), TMB_ERROR_ARGUMENT_SIZE);
    EXPECT(tmb_slot_set_bytes(slot, "bytes", NULL, 8), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_set_bytes(slot, "bytes", "abc", (size_t)-1), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_wait(slot, NULL), TMB_ERROR_SLOT_STATE);
    EXPECT(tmb_slot_read_register(slot, 3, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_wait_register(slot, 3, 1, 1, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_slot_wait_register(NULL, 0, 1, 1, 0, NULL), TMB_ERROR_HANDLE);
    EXPECT(tmb_slot_wait_register(slot, 0, 0, 0, 0, NULL), TMB_OK);
    EXPECT(tmb_slot_wait_interrupt(NULL, 0, NULL), TMB_ERROR_HANDLE);
    EXPECT(tmb_slot_wait_interrupt(slot, 0, NULL), TMB_ERROR_SLOT_STATE);
    EXPECT(tmb_slot_write_register(slot, 3, 0), TMB_ERROR_ARGUMENT);

    /* The kernel reads where nothing is mapped. */
    EXPECT(tmb_slot_set(slot, "input", 0), TMB_OK);
    EXPECT(tmb_slot_set(slot, "output", 0), TMB_OK);
    EXPECT(tmb_slot_set(slot, "bytes", 64), TMB_OK);
    EXPECT(tmb_slot_start(slot), TMB_OK);
    EXPECT(tmb_slot_wait(slot, NULL), TMB_ERROR_ACCESS);
    TRUE(strstr(tmb_last_error(), "m_axi_gmem0") != NULL);

    EXPECT(tmb_slot_load(card, 0, kernel, space, &later), TMB_OK);
    EXPECT(tmb_slot_start(slot), TMB_ERROR_GONE);
    EXPECT(tmb_slot_close(slot), TMB_OK);
    EXPECT(tmb_slot_close(slot), TMB_ERROR_GONE);
    EXPECT(tmb_card_report(card, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_card_report(card, &text), TMB_OK);
    tmb_text_free(text);
    EXPECT(tmb_card_report_json(card, &text), TMB_OK);
    TRUE(text[0] == '{');
    tmb_text_free(text);
    tmb_text_free(NULL);

    /* The space goes first: its mappings with it. */
    EXPECT(tmb_map_file(space, file, NULL, &again), TMB_OK);
    EXPECT(tmb_space_close(space), TMB_OK);
    EXPECT(tmb_space_close(space), TMB_ERROR_GONE);
    EXPECT(tmb_mapping_sync(mapping), TMB_ERROR_GONE);
    EXPECT(tmb_mapping_unmap(mapping), TMB_OK);
    EXPECT(tmb_mapping_unmap(mapping), TMB_ERROR_GONE);
    EXPECT(tmb_card_close(card), TMB_OK);
    EXPECT(tmb_card_close(card), TMB_ERROR_GONE);
    EXPECT(tmb_card_report(card, &text), TMB_ERROR_GONE);
    EXPECT(tmb_slot_start(later), TMB_ERROR_GONE);
    EXPECT(tmb_mapping_unmap(again), TMB_OK);
    EXPECT(tmb_slot_close(later), TMB_OK);
    EXPECT(tmb_card_close(other), TMB_OK);
    EXPECT(tmb_space_close(foreign), TMB_OK);
}

static int stop(const tmb_progress *progress, void *context)
{
    (void)progress;
    ++*(int *)context;
    return 1;
}

static void fsrf(const char *kernel, char *file)
{
    tmb_card *card;
    tmb_space *space;
    void *addr = NULL, *kept;
    int fd, readable;
    const size_t large = (size_t)64 << 20;
    uint32_t value;

    EXPECT(fsrf_open(NULL, file, PROT_READ, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_open(&fd, NULL, PROT_READ, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_open(&fd, file, 0, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_open(&fd, file, PROT_READ | PROT_EXEC, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_open(&fd, file, PROT_READ, 0644), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_open(&fd, file, PROT_WRITE, -1), TMB_ERROR_ARGUMENT);
    char missing[] = "/no/such/file";
    EXPECT(fsrf_open(&fd, missing, PROT_READ, 0), TMB_ERROR_FILE);
    TRUE(tmb_last_errno() == 2);
    EXPECT(fsrf_close(0), TMB_ERROR_HANDLE);
    EXPECT(fsrf_close(-1), TMB_ERROR_HANDLE);
    EXPECT(fsrf_open(&fd, file, PROT_READ | PROT_WRITE, 0600), TMB_OK);
    EXPECT(fsrf_open(&readable, file, PROT_READ, 0), TMB_OK);
    EXPECT(fsrf_mmap(&addr, 100, PROT_READ, MAP_SHARED, fd, 0), TMB_ERROR_ORDER);
    EXPECT(fsrf_munmap(addr, 100), TMB_ERROR_ORDER);
    EXPECT(fsrf_tombolo_start(0), TMB_ERROR_ORDER);
    EXPECT(fsrf_tombolo_detach(), TMB_ERROR_ORDER);
    EXPECT(fsrf_tombolo_attach(NULL, NULL), TMB_ERROR_HANDLE);

    EXPECT(tmb_card_open_functional(NULL, &card), TMB_OK);
    EXPECT(tmb_space_create(card, NULL, &space), TMB_OK);
    EXPECT(fsrf_tombolo_attach(card, space), TMB_OK);
    EXPECT(fsrf_tombolo_attach(card, space), TMB_ERROR_ORDER);
    TRUE(ftruncate(fd, (off_t)large) == 0);
    EXPECT(fsrf_mmap(NULL, 100, PROT_READ, MAP_SHARED, fd, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_mmap(&addr, 0, PROT_READ, MAP_SHARED, fd, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_mmap(&addr, 100, PROT_READ, MAP_PRIVATE, fd, 0), TMB_ERROR_UNSUPPORTED);
    EXPECT(fsrf_mmap(&addr, 100, PROT_READ, MAP_SHARED, 99, 0), TMB_ERROR_HANDLE);
    EXPECT(fsrf_mmap(&addr, 100, PROT_WRITE, MAP_SHARED, readable, 0), TMB_ERROR_FILE);
    TRUE(tmb_last_errno() == 13);
    EXPECT(fsrf_mmap(&addr, large + 1, PROT_READ, MAP_SHARED, fd, 0), TMB_ERROR_UNMAPPABLE);
    TRUE(addr == NULL);
    addr = (void *)(uintptr_t)0x1001;
    EXPECT(fsrf_mmap(&addr, 100, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), TMB_ERROR_UNMAPPABLE);
    addr = (void *)(uintptr_t)((uint64_t)1 << 40);
    kept = addr;
    EXPECT(fsrf_mmap(&addr, large, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), TMB_OK);
    TRUE(addr == kept);
    EXPECT(fsrf_mmap(&addr, 100, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), TMB_ERROR_UNMAPPABLE);
    EXPECT(fsrf_close(fd), TMB_OK);
    EXPECT(fsrf_close(fd), TMB_ERROR_HANDLE);

    EXPECT(fsrf_madvise(addr, 100, FSRF_ADV_STREAM | FSRF_ADV_REUSE), TMB_OK);
    EXPECT(fsrf_madvise(addr, 100, FSRF_ADV_STREAM | FSRF_ADV_RANDOM), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_madvise(addr, 100, 16), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_madvise(NULL, 100, FSRF_ADV_STREAM), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_msync(addr, large, MS_INVALIDATE), TMB_OK);
    EXPECT(fsrf_msync(addr, large, MS_SYNC | MS_INVALIDATE), TMB_OK);
    EXPECT(fsrf_msync(addr, large, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_msync(NULL, large, MS_SYNC), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_munmap((char *)addr + 4096, large / 2), TMB_ERROR_UNMAPPABLE);
    EXPECT(fsrf_munmap(addr, 0), TMB_ERROR_ARGUMENT);

    EXPECT(fsrf_tombolo_set(0, "input", 0), TMB_ERROR_ORDER);
    EXPECT(fsrf_tombolo_load(0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_load(0, kernel), TMB_OK);
    EXPECT(fsrf_tombolo_set_bytes(0, "bytes", "", 0), TMB_ERROR_ARGUMENT_SIZE);
    EXPECT(fsrf_tombolo_set_bytes(0, "bytes", NULL, 8), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_set(0, NULL, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_read_register(0, 0x20, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_wait(0, 0), TMB_ERROR_SLOT_STATE);
    EXPECT(fsrf_tombolo_set(0, "input", (uint64_t)(uintptr_t)addr), TMB_OK);
    EXPECT(fsrf_tombolo_set(0, "output", (uint64_t)(uintptr_t)addr), TMB_OK);
    EXPECT(fsrf_tombolo_set(0, "bytes", large), TMB_OK);
    EXPECT(fsrf_tombolo_read_register(0, 0x20, &value), TMB_OK);
    EXPECT(fsrf_tombolo_wait_register(0, 0x20, 0xffffffff, value, 0, &value), TMB_OK);
    EXPECT(fsrf_tombolo_wait_register(0, 0x21, 1, 1, 0, NULL), TMB_ERROR_ARGUMENT);
    TRUE(value == large);
    EXPECT(fsrf_tombolo_write_register(0, 0x21, 0), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_start(0), TMB_OK);
    EXPECT(fsrf_tombolo_wait(0, 1000000), TMB_ERROR_DEADLINE);

    /* The same with tombolo.h: a callback that stops the wait. */
    tmb_slot *slot;
    int asked = 0;
    tmb_wait_options wait = TMB_WAIT_OPTIONS;
    wait.progress = stop;
    wait.context = &asked;
    EXPECT(tmb_slot_load(card, 0, kernel, space, &slot), TMB_OK);
    EXPECT(tmb_slot_set(slot, "input", (uint64_t)(uintptr_t)addr), TMB_OK);
    EXPECT(tmb_slot_set(slot, "output", (uint64_t)(uintptr_t)addr), TMB_OK);
    EXPECT(tmb_slot_set(slot, "bytes", large), TMB_OK);
    EXPECT(tmb_slot_start(slot), TMB_OK);
    EXPECT(tmb_slot_wait(slot, &wait), TMB_ERROR_INTERRUPTED);
    TRUE(asked == 1);
    EXPECT(tmb_slot_close(slot), TMB_OK);

    /* The middle goes, then what is left on both sides of it. */
    EXPECT(fsrf_munmap((char *)addr + large / 4, large / 2), TMB_OK);
    EXPECT(fsrf_munmap((char *)addr + large / 4, large / 2), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_msync(addr, large / 4, MS_SYNC), TMB_OK);
    EXPECT(fsrf_munmap(addr, large), TMB_OK);
    EXPECT(fsrf_munmap(addr, large), TMB_ERROR_ARGUMENT);
    EXPECT(fsrf_tombolo_detach(), TMB_OK);
    EXPECT(fsrf_close(readable), TMB_ERROR_HANDLE);
    EXPECT(tmb_card_close(card), TMB_OK);
    EXPECT(tmb_space_close(space), TMB_OK);
}

/* Memory that the program and a kernel share: made by the library, and the program's own. */
static void shared(const char *kernel)
{
    tmb_card *card;
    tmb_space *space;
    tmb_memory *made = NULL, *own = NULL, *none = NULL;
    tmb_slot *slot;
    void *start;
    size_t page = 4096, bytes = 3 * page;
    int on_the_stack[4] = { 0 };

    EXPECT(tmb_card_open_functional(NULL, &card), TMB_OK);
    EXPECT(tmb_space_create(card, NULL, &space), TMB_OK);
    EXPECT(tmb_memory_alloc(space, bytes, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc(space, bytes, 1000, &none), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc(space, 0, 0, &none), TMB_ERROR_UNSHAREABLE);
    EXPECT(tmb_memory_alloc_for_calls(space, bytes, 0, NULL, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc_for_calls(space, 0, 0, &none, NULL), TMB_ERROR_UNSHAREABLE);
    /* A card without a way to host memory. */
    EXPECT(tmb_memory_alloc_direct(space, bytes, 0, &none), TMB_ERROR_UNSHAREABLE);
    TRUE(strstr(tmb_last_error(), "host_channel") != NULL);
    EXPECT(tmb_memory_alloc_direct(space, bytes, 0, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc_direct(space, bytes, 1000, &none), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc_with_traps(space, bytes, 0, 3, &none, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc_with_traps(space, bytes, 0, -1, &none, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_alloc_with_traps(space, 0, 0, TMB_TRAPS_IN_THREAD, &none, NULL), TMB_ERROR_UNSHAREABLE);
    {
        tmb_memory *trapped = NULL;
        void *first = NULL;
        int taken = -1;
        EXPECT(tmb_memory_alloc_with_traps(space, bytes, 0, TMB_TRAPS_IN_THREAD, &trapped, &taken), TMB_OK);
        EXPECT(taken == TMB_TRAPS_IN_THREAD || taken == TMB_TRAPS_PROTECT, 1);
        EXPECT(tmb_memory_pointer(trapped, &first), TMB_OK);
        *(volatile char *)first = 1;
        EXPECT(tmb_memory_free(trapped), TMB_OK);
    }
    EXPECT(tmb_memory_register(space, on_the_stack, sizeof on_the_stack, page, &none),
           TMB_ERROR_UNREGISTRABLE);
    EXPECT(tmb_memory_register(space, NULL, page, page, &none), TMB_ERROR_UNREGISTRABLE);
    EXPECT(tmb_memory_free(none), TMB_ERROR_HANDLE);
    EXPECT(tmb_memory_free((tmb_memory *)(void *)space), TMB_ERROR_HANDLE);

    unsigned char *pages = NULL;
    TRUE(posix_memalign(&start, page, bytes) == 0);
    pages = start;
    memset(pages, 7, bytes);
    EXPECT(tmb_memory_alloc(space, bytes, page, &made), TMB_OK);
    EXPECT(tmb_memory_register(space, pages, bytes, page, &own), TMB_OK);
    EXPECT(tmb_memory_register(space, pages + page, page, page, &none), TMB_ERROR_UNREGISTRABLE);
    EXPECT(tmb_memory_pointer(own, &start), TMB_OK);
    TRUE(start == pages && pages[bytes - 1] == 7);
    EXPECT(tmb_memory_pointer(made, NULL), TMB_ERROR_ARGUMENT);
    EXPECT(tmb_memory_pointer(made, &start), TMB_OK);
    memset(start, 9, bytes);
    EXPECT(tmb_slot_load(card, 0, kernel, space, &slot), TMB_OK);
    EXPECT(tmb_slot_set(slot, "input", (uint64_t)(uintptr_t)start + 1), TMB_ERROR_MISALIGNED_POINTER);
    EXPECT(tmb_slot_set(slot, "input", (uint64_t)(uintptr_t)start), TMB_OK);
    EXPECT(tmb_slot_set(slot, "output", (uint64_t)(uintptr_t)pages), TMB_OK);
    EXPECT(tmb_slot_set(slot, "bytes", bytes - 1), TMB_OK);
    EXPECT(tmb_slot_start(slot), TMB_OK);
    EXPECT(tmb_slot_wait(slot, NULL), TMB_OK);
    TRUE(pages[0] == 9 && pages[bytes - 2] == 9 && pages[bytes - 1] == 7);
    EXPECT(tmb_memory_free(own), TMB_OK);
    EXPECT(tmb_memory_free(own), TMB_ERROR_GONE);
    TRUE(pages[page] == 9);
    pages[page] = 1;
    EXPECT(tmb_space_close(space), TMB_OK);
    EXPECT(tmb_memory_free(made), TMB_OK);
    EXPECT(tmb_card_close(card), TMB_OK);
    free(pages);
}

/* Their card. */
static void lines(void)
{
    tmb_card *card = NULL;
    EXPECT(tmb_card_open_functional(NULL, &card), TMB_OK);
    coherent(card);
    EXPECT(tmb_card_close(card), TMB_OK);
    tmb_card_options wrong = TMB_CARD_OPTIONS;
    wrong.coherent = 1;
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
    wrong.preset = "fsrf";
    EXPECT(tmb_card_open_simulated(&wrong, &card), TMB_ERROR_ARGUMENT);
    TRUE(strstr(tmb_last_error(), "coherent") != NULL);
    wrong = (tmb_card_options)TMB_CARD_OPTIONS;
    wrong.host_channel = 2;
    EXPECT(tmb_card_open_functional(&wrong, &card), TMB_ERROR_ARGUMENT);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    TRUE(strcmp(tmb_version(), "0.2.0") == 0);
    TRUE(strcmp(tmb_status_name(TMB_ERROR_NO_FREE_SPACE), "TMB_ERROR_NO_FREE_SPACE") == 0);
    TRUE(strcmp(tmb_status_name(12345), "unknown status") == 0);
    layouts();
    options();
    handles(argv[1], argv[2]);
    fsrf(argv[1], argv[2]);
    shared(argv[1]);
    several(argv[1]);
    lines();
    return failures != 0;
}
