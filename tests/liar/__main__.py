import asyncio, sys, time
from collections import Counter
from tests.liar.runs import run_task


async def main():
    n = int(sys.argv[1])
    t = time.time()
    made = Counter()
    un = Counter()
    ma = Counter()
    by = {}
    for i in range(n):
        r = await run_task(i, seed=1)
        for o in r.outcomes:
            made[o.lie.lie_class] += 1
            un[o.lie.lie_class] += o.reach == "unmarked"
            ma[o.lie.lie_class] += o.reach == "marked"
            by.setdefault(o.lie.lie_class, Counter())[o.stopped_by] += 1
            if o.reach != "stopped" and o.lie.lie_class.is_hard:
                print("LEAK", i, o.reach, o.lie)
        print(
            i,
            r.ending,
            len(r.outcomes),
            r.calls,
            r.blind,
            r.shown,
            r.statements,
            r.worded,
            round(time.time() - t, 1),
        )
        for f in r.faults:
            print("   FAULT", f)
    for c in made:
        print(f"{c:45} {made[c]:5} {un[c]:4} {ma[c]:4}", by[c].most_common(6))
    print(sum(made.values()))


asyncio.run(main())
