internal import Lifecycle
internal import Synchronization

/// The access of the control API to the simulator, its fault injector, its journal and its phones. All of them are
/// confined to the simulator's loop. The API's requests run on other threads, and use `perform` to run actions on the
/// loop.
///
/// `@unchecked Sendable`: mutable state is used only inside `perform`, which runs on the loop.
final class SimulatorController: @unchecked Sendable {
    let loop: EventLoop
    let simulator: Simulator
    let faultInjector: ScriptedFaultInjector
    let journal: Journal

    /// The phones, and the fixed statuses of tokens.
    let tokenStatuses: TokenStatusOverrides
    // The initial state, for `reset`.
    private let initialScript: FaultScript
    private let makePhones: () -> Phones?
    private let stopFlag = Atomic(false)

    var phones: Phones? { tokenStatuses.phones }

    /// Assembles a simulator. Call on its loop.
    /// - Parameter makePhones: returns the initial phones, the same at each call.
    init(
        settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop,
        script: FaultScript, journal: Journal, clock: SimulatorClock, makePhones: @escaping () -> Phones?
    ) {
        self.loop = loop
        self.journal = journal
        initialScript = script
        self.makePhones = makePhones
        let injector = ScriptedFaultInjector(on: loop, script: script)
        tokenStatuses = TokenStatusOverrides(phones: makePhones())
        let simulator = Simulator(
            settings: settings, credentials: credentials, on: loop, phones: tokenStatuses,
            faultInjector: injector, journal: journal, clock: clock)
        injector.injectIntoAllConnections = { [weak simulator] fault in simulator?.inject(fault) }
        self.faultInjector = injector
        self.simulator = simulator
    }

    /// Restores the initial state, except for the clock, which never goes back, and the connections, which
    /// stay open.
    func reset() {
        let sink = phones?.sink
        tokenStatuses.reset(to: makePhones())
        phones?.sink = sink
        simulator.validator.reset()
        journal.reset()
        faultInjector.replace(with: initialScript)
    }

    /// Lets the callers that wait in `WaitRoute` return at their next check. Call on any thread.
    func beginStopping() { stopFlag.store(true, ordering: .relaxed) }

    var isStopping: Bool { stopFlag.load(ordering: .relaxed) }

    /// Runs `action` on the loop and returns its value. It must be quick, because pushes wait for it. Throws a
    /// refusal if the loop has stopped.
    func perform<Value: Sendable>(
        _ action: @escaping @Sendable (SimulatorController) throws(ControlRefusal) -> Value
    ) async throws -> Value {
        let result: Result<Value, ControlRefusal> = await withCheckedContinuation { continuation in
            let isQueued = loop.execute {
                do throws(ControlRefusal) {
                    continuation.resume(returning: .success(try action(self)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            if !isQueued { continuation.resume(returning: .failure(.stopping)) }
        }
        return try result.get()
    }
}
