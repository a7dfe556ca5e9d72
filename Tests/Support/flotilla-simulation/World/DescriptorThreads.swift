import CSimulatedLibrary
import Lifecycle
import Simulation

/// A process whose threads wait for descriptors.
protocol ThreadOwner: AnyObject {
    /// The process does nothing before this time, as after SIGSTOP.
    var stoppedUntil: Instant { get }
    /// Lets a thread run until it waits again.
    func resume(thread: Int32) throws
}

/// The threads that wait for descriptors: the event loops of the senders and of APNs. Each runs in an event of the world
/// when a descriptor is ready or when its wait ends.
final class DescriptorThreads {
    /// The longest time until bytes and signals reach a thread.
    private static let latencyMillisecondsMax = 20
    /// The pause between two runs of a thread in idle days.
    private static let idleMilliseconds = 6000

    private struct PlannedRun {
        let time: Instant
        /// The number of the event. Older events are forgotten.
        let number: Int
    }

    private unowned let world: World
    private var owners: [Int32: any ThreadOwner] = [:]
    private var plannedRuns: [Int32: PlannedRun] = [:]
    private var processCount: Int32 = 0
    /// The number of threads that were ever made, and those of them that can still run.
    private var knownCount: Int32 = 0
    private var running: [Int32] = []
    private var runCount = 0
    /// Whether a descriptor can have become ready since the last look.
    var mustLook = false

    init(in world: World) { self.world = world }

    /// Gives a process its number. Its threads and descriptors belong to that number.
    func addProcess() -> Int32 {
        processCount += 1
        return processCount
    }

    func setOwner(_ owner: (any ThreadOwner)?, ofProcess number: Int32) { owners[number] = owner }

    /// Plans the next run of each thread. Called after each event of the world.
    func planRuns() {
        guard mustLook else { return }
        mustLook = false
        while knownCount < simulated_thread_count() {
            running.append(knownCount)
            knownCount += 1
        }
        var hasEnded = false
        for number in running {
            let state = simulated_thread_state(number)
            guard !state.has_ended, owners[state.process] != nil else {
                hasEnded = true
                continue
            }
            var time = Instant(nanoseconds: state.wakes_at)
            if state.is_ready {
                // A run that is planned so early takes these bytes too.
                if let planned = plannedRuns[number], planned.time <= latestArrival { continue }
                let milliseconds = 1 + world.random.number(below: Self.latencyMillisecondsMax)
                time = world.now.advanced(byMilliseconds: milliseconds)
            }
            if world.isIdle { time = max(time, world.now.advanced(byMilliseconds: Self.idleMilliseconds)) }
            if let planned = plannedRuns[number], planned.time <= time { continue }
            if state.is_ready || state.wakes_at != .max { plan(number, of: state.process, at: time) }
        }
        // A thread never runs again if it has ended, or if its process has ended.
        if hasEnded {
            running.removeAll {
                let state = simulated_thread_state($0)
                return state.has_ended || owners[state.process] == nil
            }
        }
    }

    /// The latest time at which bytes that are sent now reach a thread.
    private var latestArrival: Instant { world.now.advanced(byMilliseconds: Self.latencyMillisecondsMax) }

    private func plan(_ thread: Int32, of process: Int32, at time: Instant) {
        runCount += 1
        let number = runCount
        plannedRuns[thread] = PlannedRun(time: time, number: number)
        world.schedule(at: time) { [unowned self] in
            guard plannedRuns[thread]?.number == number, let owner = owners[process] else { return }
            if owner.stoppedUntil > world.now { return plan(thread, of: process, at: owner.stoppedUntil) }
            plannedRuns[thread] = nil
            mustLook = true
            try owner.resume(thread: thread)
        }
    }
}
