/*
 * Mispredicted branches: what is kept of them from fetch on, and what happens when they resolve.
 *
 * When a branch executes and its outcome is not what the front end went on with, fetch starts again
 * at the outcome, the front end's past (history, return stack position) is that behind the branch,
 * and the uops in the queue before the allocator are dropped. Bogus uops that were allocated stay
 * and are cancelled at retirement (Fog, Microarchitecture, 3.4). Resolving takes until the last of
 * the 20 published stages. The renamer takes the new path when the branch has retired (rename.c).
 *
 * The execution units cannot know which path they are on: a branch on a wrong path that finds
 * itself mispredicted, by the values of that path, turns fetch likewise, until an older branch
 * resolves; what it fetches waits for a branch that only retires behind that one, and is dropped.
 * So mispredicted branches are a list, oldest first; one that resolves drops all younger ones. The
 * input goes back to the path's state behind the branch. A branch whose outcome nobody knows (it
 * hangs on an unknown value) turns nothing, nor does one for which the list is full (model choice).
 */
#include "machine.h"

void turns_forget(struct lp *lp)
{
    lp->turns = 0;
    lp->resolve_at = NB_NEVER;
}

static void add(struct lp *lp, struct dyn *d)
{
    struct turn *turn = &lp->turn[lp->turns++];
    d->mispredicted = true;
    turn->dyn = lp->fe.dyn;
    turn->resolve_at = NB_NEVER;
}

/* The right path leaves the predicted one behind D, which is being fetched. */
void turn_right_path(struct lp *lp, struct dyn *d)
{
    turns_forget(lp);
    add(lp, d);
    lp->fe.wrong_path = true;
    lp->wrong_values =
        lp->input.wrong_begin && lp->input.wrong_begin(lp->input.context, d->in.serial);
    lp->stats.wrong_paths++;
    lp->stats.wrong_paths_without_values += !lp->wrong_values;
}

/* The wrong path's values lead elsewhere than predicted behind D, which is being fetched. Its mark
 * is that of its place in the list, without the right path's. */
void turn_wrong_path(struct lp *lp, struct dyn *d)
{
    if (lp->turns == NB_TURNS || !lp->input.wrong_mark ||
        !lp->input.wrong_mark(lp->input.context, lp->turns - 1))
        return;
    add(lp, d);
}

/* The branch DYN has executed. */
void turn_executed(struct lp *lp, uint32_t dyn, nb_clock resolve_at)
{
    for (unsigned i = 0; i < lp->turns; i++)
        if (lp->turn[i].dyn == dyn) {
            lp->turn[i].resolve_at = resolve_at;
            lp->resolve_at = min64(lp->resolve_at, resolve_at);
        }
}

/* The branches younger than the first N are forgotten. */
static void keep(struct lp *lp, unsigned n)
{
    lp->turns = n;
    lp->resolve_at = NB_NEVER;
    for (unsigned i = 0; i < n; i++)
        lp->resolve_at = min64(lp->resolve_at, lp->turn[i].resolve_at);
}

/* The outcome of mispredicted branch NUMBER reaches the front end. */
static void resolve(struct nb_machine *m, struct lp *lp, unsigned number)
{
    uint32_t dyn = lp->turn[number].dyn;
    const struct dyn *d = dyn_at(lp, dyn);
    lp->past.history = d->history;
    predict_follow(m, lp, d->code, d->taken);
    lp->past.return_top = d->return_top;
    lp->table_lost = true;
    lp->table_back_dyn = dyn;
    fe_restart(m, lp, d->in.next_ip, d->in.process);
    keep(lp, number);
    if (number) {
        lp->fe.wrong_path = true;
        lp->stats.wrong_path_turns++;
        lp->wrong_values = lp->input.wrong_back(lp->input.context, number - 1);
    }
    m->active = true;
}

/* The oldest branch that is due resolves; the younger ones were never there. */
static void resolve_due(struct nb_machine *m, struct lp *lp)
{
    for (unsigned i = 0; i < lp->turns; i++)
        if (lp->turn[i].resolve_at <= m->now) {
            resolve(m, lp, i);
            return;
        }
}

/* The next clock in which a branch resolves. */
nb_clock turn_cycle(struct nb_machine *m)
{
    nb_clock next = NB_NEVER;
    for (unsigned i = 0; i < m->lps; i++) {
        if (m->lp[i].resolve_at <= m->now)
            resolve_due(m, &m->lp[i]);
        next = min64(next, m->lp[i].resolve_at);
    }
    return next;
}
