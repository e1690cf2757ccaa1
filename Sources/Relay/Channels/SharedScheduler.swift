import Media
import Schedule

/// Channel: the stream's scheduler. Every stage asks it about its frames, and reports to it what its work took.
///
/// - Writers: decode, enhance, encode and send; the observer (``rest(at:)``).
/// - Readers: they, and the observer (``demand``, ``rungs``, ``pictures``).
/// - Read together: what one call of ``withScheduler(_:)`` sees, and ``pictures``. ``rungs`` is recorded with each plan.
///
/// Thread-safe; a call holds a lock for about a microsecond.
final class SharedScheduler: Sendable {
    private struct State {
        var scheduler: StreamScheduler<Planner>?
        var rungs = RungRecord()
        var choice: OutputChoice?
    }

    private let state = Lock(State())
    private let order: SynthesisOrder

    init(order: SynthesisOrder) { self.order = order }

    /// Works with the scheduler under its lock; nil before the size of the first picture is known.
    func withScheduler<Result: Sendable>(_ body: (inout StreamScheduler<Planner>) -> Result) -> Result? {
        state.withLock { state in
            guard state.scheduler != nil else { return nil }
            return body(&state.scheduler!)
        }
    }

    /// Plans an original, and records the rung on which the stream stands then.
    /// - Parameter cores: what the stream may use of the machine.
    /// - Precondition: ``configure(_:)`` was called.
    func plan(
        at now: MonotonicTime, emitBy: MonotonicTime, synthesised: Int, tiles: Int, _ pipeline: PipelineState, cores: Cores
    ) -> FramePlan {
        state.withLock { state in
            state.scheduler!.use(cores)
            let plan = state.scheduler!.plan(at: now, emitBy: emitBy, synthesised: synthesised, tiles: tiles, pipeline)
            state.rungs.record(state.scheduler!.policy.level, at: now)
            return plan
        }
    }

    /// Plans for such pictures from now on. What was learnt of the machine is kept where only the size changes.
    func configure(_ configuration: Planner.Configuration) {
        state.withLock { state in
            if state.scheduler == nil {
                state.scheduler = StreamScheduler(Planner(configuration), order: order)
            } else {
                state.scheduler!.reconfigure(configuration)
            }
        }
    }

    /// - Parameter time: what the process has had of processors since it began.
    func observe(processorTime time: Nanoseconds) { _ = withScheduler { $0.observe(processorTime: time) } }

    /// Takes over settings that have changed.
    func change(ceiling: Tier, synthesises: Bool, caution: Double) {
        _ = withScheduler { $0.change(ceiling: ceiling, synthesises: synthesises, caution: caution) }
    }

    /// Where the stream has stood on the ladder.
    var rungs: RungRecord { state.withLock { $0.rungs } }

    /// What pictures are made like now; nil where nothing limits the output. Enhance sets it when it takes over a choice.
    var choice: OutputChoice? {
        get { state.withLock { $0.choice } }
        set { state.withLock { $0.choice = newValue } }
    }

    /// What pictures are made like, what they have cost, and whether some are skipped.
    var pictures: OutputLadder.Pictures {
        state.withLock { state in
            var pictures = OutputLadder.Pictures()
            pictures.made = state.choice
            pictures.areSkipped = state.rungs.rung?.decodesAll == false
            if let choice = state.choice, let planner = state.scheduler?.policy {
                pictures.observed = OutputLadder.Observation(planner, choice.preset)
            }
            return pictures
        }
    }

    /// Pictures are bypassed, so that none is planned: the stream stands on no rung.
    func rest(at now: MonotonicTime) {
        state.withLock { state in
            guard state.rungs.rung != nil else { return }
            state.rungs.end(at: now)
            state.scheduler?.rest()
        }
    }

    /// What the stream needs of the machine; nil before the first picture.
    var demand: Capacity.Demand? { state.withLock { $0.scheduler?.demand } }
}
