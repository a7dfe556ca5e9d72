internal import Lifecycle

/// The running script of a simulator, with its clock and its timetable. Confined to the simulator's loop.
final class ScriptedFaultInjector: FaultInjector {
    /// Injects a fault into all connections.
    var inject: (InjectedFault.ConnectionFault) -> Void = { _ in }

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

    private var milliseconds: Int { loop.now.milliseconds(since: scriptSetAt) }

    /// Replaces the script and starts the new one from its beginning.
    func replace(with script: FaultScript) {
        runningScript = RunningScript(script)
        scriptSetAt = loop.now
        scheduleTimer()
    }

    /// Appends a rule. Returns false at the limit.
    func add(_ rule: FaultRule) -> Bool { runningScript.add(rule) }

    func fault(for request: RequestFacts) -> InjectedFault {
        runningScript.fault(for: request, milliseconds: milliseconds)
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] {
        runningScript.faults(forOpenedConnection: number, milliseconds: milliseconds)
    }

    private func injectDueFaults() {
        for fault in runningScript.takeDueFaults(milliseconds: milliseconds) { inject(fault) }
        scheduleTimer()
    }

    private func scheduleTimer() {
        guard let next = runningScript.nextStepMilliseconds else {
            timer?.cancel()
            return
        }
        timer?.schedule(at: scriptSetAt.advanced(byMilliseconds: next))
    }
}
