internal import Lifecycle

/// The running script of a simulator, with its clock and its timetable. Confined to the simulator's loop.
final class ScriptedMischief: Mischief {
    /// Injects a fault into all connections.
    var inflict: (Ruling.ConnectionFault) -> Void = { _ in }

    private let loop: EventLoop
    private(set) var running: RunningScript
    private var givenAt: Instant
    private var timer: LoopTimer?

    init(on loop: EventLoop, script: Script = .none) {
        self.loop = loop
        running = RunningScript(script)
        givenAt = loop.now
        timer = LoopTimer(on: loop) { [weak self] in self?.takeSteps() }
        schedule()
    }

    private var milliseconds: Int { loop.now.milliseconds(since: givenAt) }

    /// Replaces the script and starts the new one from its beginning.
    func replace(with script: Script) {
        running = RunningScript(script)
        givenAt = loop.now
        schedule()
    }

    /// Appends a rule. Returns false at the limit.
    func add(_ rule: Rule) -> Bool { running.add(rule) }

    func ruling(for request: RequestFacts) -> Ruling {
        running.ruling(for: request, milliseconds: milliseconds)
    }

    func connectionOpened(_ number: Int) -> [Ruling.ConnectionFault] {
        running.faults(ofOpenedConnection: number, milliseconds: milliseconds)
    }

    private func takeSteps() {
        for fault in running.takeSteps(milliseconds: milliseconds) { inflict(fault) }
        schedule()
    }

    private func schedule() {
        guard let next = running.nextStepMilliseconds else {
            timer?.cancel()
            return
        }
        timer?.schedule(at: givenAt.advanced(byMilliseconds: next))
    }
}
