internal import Lifecycle

/// The fault injector that runs a fault script. It chooses the faults of requests when they come, and a timer
/// injects the faults of the timetable. Confined to the simulator's loop.
final class ScriptedFaultInjector: FaultInjector {
    /// Injects a fault of the timetable into all connections. `SimulatorController` sets it.
    var injectIntoAllConnections: (InjectedFault.ConnectionFault) -> Void = { _ in }

    private let loop: EventLoop
    private(set) var runningScript: RunningScript
    private var scriptSetAt: Instant
    private var timer: LoopTimer?

    init(on loop: EventLoop, script: FaultScript = .none) {
        self.loop = loop
        runningScript = RunningScript(script)
        scriptSetAt = loop.now
        timer = LoopTimer(on: loop) { [weak self] in self?.injectDueFaults() }
        scheduleTimer()
    }

    private var millisecondsSinceScriptSet: Int { loop.now.milliseconds(since: scriptSetAt) }

    /// Replaces the script and starts the new one from its beginning.
    func replace(with script: FaultScript) {
        runningScript = RunningScript(script)
        scriptSetAt = loop.now
        scheduleTimer()
    }

    /// Appends a rule. Returns false at a limit of `FaultScript`.
    func add(_ rule: FaultRule) -> Bool { runningScript.add(rule) }

    func fault(for request: RequestFacts) -> InjectedFault {
        runningScript.fault(for: request, milliseconds: millisecondsSinceScriptSet)
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] {
        runningScript.faults(forOpenedConnection: number, milliseconds: millisecondsSinceScriptSet)
    }

    private func injectDueFaults() {
        for fault in runningScript.takeDueFaults(milliseconds: millisecondsSinceScriptSet) {
            injectIntoAllConnections(fault)
        }
        scheduleTimer()
    }

    private func scheduleTimer() {
        guard let nextMilliseconds = runningScript.nextStepMilliseconds else {
            timer?.cancel()
            return
        }
        timer?.schedule(at: scriptSetAt.advanced(byMilliseconds: nextMilliseconds))
    }
}
