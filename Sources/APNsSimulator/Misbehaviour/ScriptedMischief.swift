internal import Lifecycle

/// The script that a simulator goes by, its clock and its timetable. Confined to the simulator's loop.
final class ScriptedMischief: Mischief {
    /// Does something to all connections.
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

    /// From now on this one, from its beginning.
    func replace(with script: Script) {
        running = RunningScript(script)
        givenAt = loop.now
        schedule()
    }

    /// Behind the others. False when there are as many as there may be.
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
