/* The yardstick: Unimodal with the UCB index, the same steps as in src/pairup, in tuned C.
 *
 * It proposes the same couples and counts the same games as the compiled kernels, bit for bit
 * (limit.py asserts it), so the ratio of the two times says what Numba costs. As there, a round is
 * propose, accept, observe, and they share nothing but the couples and what was played. For an
 * even number of players, all of them available.
 *
 * What is tuned: whatever is needed of the leader's couples and their cross pairs lies side by side
 * in whole vectors, so that checking the leader and choosing a neighbour are straight sweeps
 * without a branch to guess; acceptances are drawn a vector at a time; the logarithm of the next
 * clock is worked out while this round waits for its outcomes; the modulo of the leader's count is
 * a countdown; nothing is allocated inside the loop but a bigger table of leaders.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 4
#define STALE (-1)
#define NO_NEIGHBOUR (-1)
#define ROUNDING 1e-12

typedef double Reals __attribute__((vector_size(8 * LANES)));
typedef int64_t Whole __attribute__((vector_size(8 * LANES)));
typedef uint64_t Words __attribute__((vector_size(8 * LANES)));
typedef double Shifted __attribute__((vector_size(8 * LANES), aligned(8)));

typedef struct {
    int i, j; /* i < j */
} Couple;

typedef struct {
    /* the problem */
    int players, couples, blocks, player_blocks; /* blocks: of LANES couples, of LANES players */
    const double *rates;
    uint64_t key, pair_ties, neighbour_ties;
    double best_games;
    int by_players, round_clock;
    Words *threshold; /* a player accepts when its draw is below */
    /* statistics, players x players, for i < j */
    double *tries, *games, *mean;
    /* the leader, its couples in order, and where each player stands in it; beyond the last couple
     * `lead_mean` and `bound` are not a number, so that no comparison with them holds */
    Couple *lead;
    int *place, *partner, *blocked;
    Reals *lead_mean, *bound, *rad;
    Reals *base[4], *slope[4]; /* of the cross pairs of couples k and k + 1 */
    Reals *gain[2];            /* of their two swaps */
    /* one round */
    Couple *proposed;
    int64_t *accepted;
    uint8_t *played;
    /* how often each ordered matching has led */
    uint64_t *leader_keys;
    int64_t *leader_counts, *count, capacity, used, turn;
    /* so far */
    int64_t round, total_games;
    double regret;
    double ahead_clock, ahead; /* the clock of the next round, most likely, and its x */
} Run;

/* ---- random words and the logarithm: compiled/randomness.py, compiled/logarithm.py */

#define WEYL 0x9E3779B97F4A7C15u
#define MIXED(x)                                  \
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;    \
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;    \
    x = x ^ (x >> 31)

static inline uint64_t word(uint64_t key, uint64_t index) {
    uint64_t x = key + WEYL * (index + 1);
    MIXED(x);
    return x;
}

static inline double logarithm(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int exponent = (int)(bits >> 52) - 1022;
    bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FE0000000000000u;
    double m;
    memcpy(&m, &bits, 8);
    if (m < 0.70710678118654757) {
        m = 2.0 * m;
        exponent -= 1;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
    double low = (2. / 3 + 2. / 5 * z) + (2. / 7 + 2. / 9 * z) * z2;
    double mid = (2. / 11 + 2. / 13 * z) + (2. / 15 + 2. / 17 * z) * z2;
    double high = (2. / 19 + 2. / 21 * z) + 2. / 23 * z2;
    double tail = s * z * (low + mid * z4 + high * (z4 * z4));
    double scaled = tail + exponent * 0x1.a39ef35793c76p-33;
    return exponent * 0x1.62e42fee00000p-1 + (f - (s * f - scaled));
}

/* ---- the leader: compiled/couples/greedy_leader.py. It falls in few rounds, and is then chosen from scratch. */

static inline Couple couple(int i, int j) { return i < j ? (Couple){i, j} : (Couple){j, i}; }

static inline int pair_of(const Run *run, Couple c) { return c.i * run->players + c.j; }

static inline double mean_of(const Run *run, int i, int j) {
    return run->mean[pair_of(run, couple(i, j))];
}

static inline uint64_t priority(const Run *run, Couple c) {
    return word(run->pair_ties, (uint64_t)c.i << 32 | (uint64_t)c.j);
}

static inline int beats(const Run *run, double mean, Couple c, double rival_mean, Couple rival) {
    if (mean != rival_mean) return mean > rival_mean;
    return priority(run, c) > priority(run, rival);
}

static inline int player_at(const Run *run, int x) { return x & 1 ? run->lead[x >> 1].j : run->lead[x >> 1].i; }

static inline double *reals(Reals *blocks) { return (double *)blocks; }

static int best_partner(const Run *run, int i, int start) {
    int best = -1;
    double best_mean = -INFINITY;
    for (int x = start; x < run->players; x++) {
        int j = player_at(run, x);
        if (j == i) continue;
        double mean = mean_of(run, i, j);
        if (mean < best_mean) continue;
        if (best < 0 || beats(run, mean, couple(i, j), best_mean, couple(i, best)))
            best = j, best_mean = mean;
    }
    return best;
}

static Couple best_pair(const Run *run, int start) {
    Couple best = {-1, -1};
    double best_mean = -INFINITY;
    for (int x = start; x < run->players; x++) {
        int i = player_at(run, x), j = run->partner[i];
        double mean = mean_of(run, i, j);
        Couple pair = couple(i, j);
        if (mean < best_mean || (pair.i == best.i && pair.j == best.j)) continue;
        if (best.i < 0 || beats(run, mean, pair, best_mean, best)) best = pair, best_mean = mean;
    }
    return best;
}

static void bound_anew(Run *run, int k) {
    Couple best = {-1, -1};
    double best_mean = -INFINITY;
    for (int x = 2 * k + 2; x < run->players; x++)
        for (int side = 0; side < 2; side++) {
            Couple pair = couple(player_at(run, 2 * k + side), player_at(run, x));
            double mean = run->mean[pair_of(run, pair)];
            if (mean < best_mean) continue;
            if (best.i < 0 || beats(run, mean, pair, best_mean, best)) best = pair, best_mean = mean;
        }
    reals(run->bound)[k] = best_mean;
    run->blocked[k] = best.i < 0 ? STALE : pair_of(run, best);
}

/* Player i moves to place x; whoever stood there takes its old place. */
static void put(Run *run, int x, int i) {
    int *order = (int *)run->lead, other = order[x], old = run->place[i];
    order[old] = other, run->place[other] = old;
    order[x] = i, run->place[i] = x;
}

static void load(Run *run, int first) {
    for (int k = first; k < run->couples; k++) {
        int pair = pair_of(run, run->lead[k]);
        reals(run->lead_mean)[k] = run->mean[pair];
        reals(run->rad)[k] = 1.0 / sqrt(run->tries[pair]);
    }
    for (int k = first > 0 ? first - 1 : 0; k < run->couples - 1; k++)
        for (int cross = 0; cross < 4; cross++) {
            int i = player_at(run, 2 * k + (cross >> 1)), j = player_at(run, 2 * k + 2 + (cross & 1));
            int pair = pair_of(run, couple(i, j));
            double tries = run->tries[pair];
            reals(run->base[cross])[k] = tries > 0 ? run->mean[pair] : INFINITY;
            reals(run->slope[cross])[k] = tries > 0 ? 1.0 / sqrt(tries) : 0.0;
        }
}

static void choose_from(Run *run, int first) {
    int *partner = run->partner;
    for (int x = 2 * first; x < run->players; x++)
        partner[player_at(run, x)] = best_partner(run, player_at(run, x), 2 * first);
    for (int k = first; k < run->couples; k++) {
        Couple pair = best_pair(run, 2 * k);
        put(run, 2 * k, pair.i);
        put(run, 2 * k + 1, pair.j);
        for (int x = 2 * k + 2; x < run->players; x++) {
            int i = player_at(run, x);
            if (partner[i] == pair.i || partner[i] == pair.j) partner[i] = best_partner(run, i, 2 * k + 2);
        }
        bound_anew(run, k);
    }
    load(run, first);
}

static int fell(Run *run, int k) {
    if (k + 1 == run->couples) return 0;
    double mean = reals(run->lead_mean)[k], next = reals(run->lead_mean)[k + 1];
    if (!beats(run, mean, run->lead[k], next, run->lead[k + 1])) return 1;
    if (mean > reals(run->bound)[k]) return 0;
    if (run->blocked[k] == STALE) bound_anew(run, k);
    Couple rival = {run->blocked[k] / run->players, run->blocked[k] % run->players};
    return !beats(run, mean, run->lead[k], reals(run->bound)[k], rival);
}

/* Whether some couple may no longer be the greedy choice. */
static inline int in_doubt(const Run *run) {
    Whole doubt = {0};
    for (int b = 0; b < run->blocks; b++) {
        Reals mean = run->lead_mean[b], next = *(const Shifted *)(reals(run->lead_mean) + b * LANES + 1);
        doubt |= (mean <= run->bound[b]) | (mean <= next);
    }
    int64_t any = 0;
    for (int lane = 0; lane < LANES; lane++) any |= doubt[lane];
    return any != 0;
}

static __attribute__((noinline)) int settle_slowly(Run *run) {
    int any = 0;
    for (int k = 0; k < run->couples; k++)
        if (fell(run, k)) {
            choose_from(run, k);
            any = 1;
            k = -1; /* what was chosen may beat couples before it */
        }
    return any;
}

/* ---- counts of leaders: compiled/couples/leader_counts.py */

static void grow(Run *run) {
    uint64_t *keys = run->leader_keys;
    int64_t *counts = run->leader_counts, capacity = run->capacity;
    run->capacity = 2 * capacity;
    run->leader_keys = calloc(run->capacity, 8);
    run->leader_counts = calloc(run->capacity, 8);
    for (int64_t cell = 0; cell < capacity; cell++) {
        if (!keys[cell]) continue;
        int64_t to = (keys[cell] >> 1) & (run->capacity - 1);
        while (run->leader_keys[to]) to = (to + 1) & (run->capacity - 1);
        run->leader_keys[to] = keys[cell], run->leader_counts[to] = counts[cell];
    }
    free(keys), free(counts);
}

static __attribute__((noinline)) void find_leader(Run *run) {
    uint64_t key = run->couples;
    for (int k = 0; k < run->couples; k++)
        key = word(key, (uint64_t)run->lead[k].i << 32 | (uint64_t)run->lead[k].j);
    key |= 1;
    if (2 * run->used >= run->capacity) grow(run);
    int64_t mask = run->capacity - 1, cell = (key >> 1) & mask;
    while (run->leader_keys[cell] && run->leader_keys[cell] != key) cell = (cell + 1) & mask;
    if (!run->leader_keys[cell]) run->leader_keys[cell] = key, run->used++;
    run->count = &run->leader_counts[cell];
    run->turn = *run->count % (2 * run->couples - 1);
}

/* ---- propose: policies/unimodal/steps.py and ucb_steps.py */

static inline Reals greater(Reals a, Reals b) {
    Whole first = a > b;
    return (Reals)((first & (Whole)a) | (~first & (Whole)b));
}

#define INDEX(cross) (run->base[cross][b] + x * run->slope[cross][b])

static inline void gains_by_players(Run *run, double x) {
    for (int b = 0; b < run->blocks; b++) {
        Reals q = run->lead_mean[b] + x * run->rad[b];
        run->gain[0][b] = greater(INDEX(0), INDEX(3)) - q;
        run->gain[1][b] = greater(INDEX(1), INDEX(2)) - q;
    }
}

static inline void gains_by_matchings(Run *run, double x) {
    for (int b = 0; b < run->blocks; b++) {
        Reals q = run->lead_mean[b] + x * run->rad[b];
        Reals next = *(const Shifted *)(reals(run->lead_mean) + b * LANES + 1);
        Reals next_rad = *(const Shifted *)(reals(run->rad) + b * LANES + 1);
        Reals both = q + (next + x * next_rad);
        run->gain[0][b] = INDEX(0) + INDEX(3) - both;
        run->gain[1][b] = INDEX(1) + INDEX(2) - both;
    }
}

static __attribute__((noinline)) int drawn_neighbour(const Run *run, double best) {
    uint64_t key = word(run->neighbour_ties, run->round + 1), highest = 0;
    int neighbour = NO_NEIGHBOUR;
    for (int other = 0; other < 2 * (run->couples - 1); other++)
        if (reals(run->gain[other & 1])[other >> 1] == best && word(key, other) >= highest)
            highest = word(key, other), neighbour = other;
    return neighbour;
}

/* The neighbour of the greatest positive gain: the greatest of each lane, of all lanes, and then
 * whose it is. What is not a number is never greater. */
static inline int best_gain(const Run *run) {
    Reals top = {0};
    for (int b = 0; b < run->blocks; b++)
        top = greater(run->gain[1][b], greater(run->gain[0][b], top));
    double best = 0.0;
    for (int lane = 0; lane < LANES; lane++) best = top[lane] > best ? top[lane] : best;
    if (best == 0.0) return NO_NEIGHBOUR;
    Whole hits = {0}, whose = {0}, neighbour;
    for (int lane = 0; lane < LANES; lane++) neighbour[lane] = 2 * lane;
    for (int b = 0; b < run->blocks; b++) {
        Whole first = run->gain[0][b] == best, second = run->gain[1][b] == best;
        hits -= first + second;
        whose |= (first & neighbour) | (second & (neighbour + 1));
        neighbour += 2 * LANES;
    }
    int64_t ties = 0, winner = 0;
    for (int lane = 0; lane < LANES; lane++) ties += hits[lane], winner |= whose[lane];
    return ties == 1 ? (int)winner : drawn_neighbour(run, best);
}

static inline void write_couples(Run *run, int neighbour) {
    const Couple *restrict lead = run->lead;
    Couple *restrict proposed = run->proposed;
    for (int k = 0; k < run->couples; k++) proposed[k] = lead[k];
    if (neighbour < 0) return;
    int k = neighbour >> 1, swap = neighbour & 1;
    int j[2] = {lead[k + 1].i, lead[k + 1].j};
    proposed[k] = couple(lead[k].i, j[swap]);
    proposed[k + 1] = couple(lead[k].j, j[1 - swap]);
}

static inline void propose(Run *run) {
    if (in_doubt(run) && settle_slowly(run)) find_leader(run);
    int64_t led = (*run->count)++;
    double clock = (double)((run->round_clock ? run->round : led) + 1);
    int neighbour = NO_NEIGHBOUR;
    if (run->turn != 0) {
        double x = run->ahead_clock == clock ? run->ahead : sqrt(2.0 * logarithm(clock));
        if (run->by_players)
            gains_by_players(run, x);
        else
            gains_by_matchings(run, x);
        neighbour = best_gain(run);
    }
    run->turn = run->turn + 1 < 2 * run->couples - 1 ? run->turn + 1 : 0;
    write_couples(run, neighbour);
    run->ahead_clock = clock + 1.0;
    run->ahead = sqrt(2.0 * logarithm(clock + 1.0));
}

/* ---- observe: policies/unimodal/ucb_steps.py, compiled/couples/statistics.py */

static inline void note_blocked(Run *run, int k, Couple c, double mean) {
    int pair = pair_of(run, c), rival = run->blocked[k], n = run->players;
    double *bound = reals(run->bound) + k;
    if (mean > *bound) {
        *bound = mean, run->blocked[k] = pair;
    } else if (rival == pair) {
        if (mean < *bound) run->blocked[k] = STALE;
    } else if (mean == *bound && rival != STALE) {
        if (priority(run, c) > priority(run, (Couple){rival / n, rival % n})) run->blocked[k] = pair;
    }
}

static inline void note_cross(Run *run, Couple c, double mean, double rad) {
    int x = run->place[c.i], y = run->place[c.j];
    if (x > y) x = run->place[c.j], y = run->place[c.i];
    int k = x >> 1;
    note_blocked(run, k, c, mean);
    if (y >> 1 == k + 1) {
        int cross = 2 * (x & 1) + (y & 1);
        reals(run->base[cross])[k] = mean;
        reals(run->slope[cross])[k] = rad;
    }
}

static inline void observe(Run *run) {
    const Couple *restrict proposed = run->proposed;
    for (int c = 0; c < run->couples; c++) {
        int pair = pair_of(run, proposed[c]);
        double tries = run->tries[pair] += 1.0, mean = (run->games[pair] += run->played[c]) / tries;
        double rad = 1.0 / sqrt(tries);
        run->mean[pair] = mean;
        int k = run->place[proposed[c].i] >> 1;
        if (k == run->place[proposed[c].j] >> 1) {
            reals(run->lead_mean)[k] = mean;
            reals(run->rad)[k] = rad;
        } else {
            note_cross(run, proposed[c], mean, rad);
        }
    }
}

/* ---- the loop: compiled/simulation_loop.py */

static inline void accept(Run *run) {
    Words x, step = {0};
    for (int lane = 0; lane < LANES; lane++)
        x[lane] = run->key + WEYL * ((uint64_t)run->round * run->players + 1 + lane);
    step += WEYL * LANES;
    Whole *accepted = (Whole *)run->accepted;
    for (int b = 0; b < run->player_blocks; b++) {
        Words draw = x;
        MIXED(draw);
        accepted[b] = (Whole)((draw >> 11) < run->threshold[b]);
        x += step;
    }
}

static inline void play_round(Run *run) {
    const double *restrict rates = run->rates;
    double expected = 0.0;
    int64_t games = 0;
    propose(run);
    accept(run);
    for (int c = 0; c < run->couples; c++) {
        int i = run->proposed[c].i, j = run->proposed[c].j;
        run->played[c] = run->accepted[i] & run->accepted[j] & 1;
        games += run->played[c];
        expected += rates[i] * rates[j];
    }
    observe(run);
    double gap = run->best_games - expected;
    run->regret += gap > ROUNDING ? gap : 0.0;
    run->total_games += games;
    run->round++;
}

/* ---- the caller's side */

static void *room(size_t bytes) {
    size_t whole = (bytes + 63) / 64 * 64 + 64; /* a vector more, for the shifted loads */
    void *at = aligned_alloc(64, whole);
    memset(at, 0, whole);
    return at;
}

static void allocate(Run *run) {
    size_t n = run->players, row = 8 * LANES * run->blocks, book = 8 * n * n;
    run->threshold = room(8 * LANES * run->player_blocks);
    run->accepted = room(8 * LANES * run->player_blocks);
    run->tries = room(book), run->games = room(book), run->mean = room(book);
    run->lead = room(sizeof(Couple) * run->couples), run->proposed = room(sizeof(Couple) * run->couples);
    run->place = room(4 * n), run->partner = room(4 * n), run->blocked = room(4 * run->couples);
    run->lead_mean = room(row), run->bound = room(row), run->rad = room(row);
    for (int cross = 0; cross < 4; cross++) run->base[cross] = room(row), run->slope[cross] = room(row);
    run->gain[0] = room(row), run->gain[1] = room(row), run->played = room(run->couples);
    run->capacity = 64;
    run->leader_keys = calloc(run->capacity, 8);
    run->leader_counts = calloc(run->capacity, 8);
}

/* A new replication: `keys` are those of acceptances, of ties between pairs and of ties between
 * neighbours. The rates stay the caller's. */
Run *limit_new(const double *rates, int players, const uint64_t *keys, double best_games, int by_players,
               int round_clock) {
    Run *run = room(sizeof(Run));
    *run = (Run){.players = players, .couples = players / 2, .rates = rates, .key = keys[0],
                 .pair_ties = keys[1], .neighbour_ties = keys[2], .best_games = best_games,
                 .by_players = by_players, .round_clock = round_clock,
                 .blocks = (players / 2 + LANES - 1) / LANES,
                 .player_blocks = (players + LANES - 1) / LANES};
    allocate(run);
    for (int i = 0; i < players; i++) {
        ((uint64_t *)run->threshold)[i] = (uint64_t)ceil(rates[i] * 0x1p53);
        ((int *)run->lead)[i] = run->place[i] = i;
    }
    for (int k = run->couples; k <= LANES * run->blocks; k++)
        reals(run->lead_mean)[k] = reals(run->bound)[k] = NAN;
    choose_from(run, 0);
    find_leader(run);
    return run;
}

/* Play on to round `until`; writes the games and the regret so far. */
void limit_play(Run *run, int64_t until, int64_t *games, double *regret) {
    while (run->round < until) play_round(run);
    *games = run->total_games, *regret = run->regret;
}

void limit_free(Run *run) {
    free(run->threshold), free(run->accepted), free(run->tries), free(run->games), free(run->mean);
    free(run->lead), free(run->proposed), free(run->place), free(run->partner), free(run->blocked);
    free(run->lead_mean), free(run->bound), free(run->rad);
    for (int cross = 0; cross < 4; cross++) free(run->base[cross]), free(run->slope[cross]);
    free(run->gain[0]), free(run->gain[1]), free(run->played);
    free(run->leader_keys), free(run->leader_counts), free(run);
}
