internal import HTTPServer
internal import JSON
internal import Lifecycle
internal import Synchronization

/// The state that the control API reads and changes. All of it is confined to the simulator's loop. Requests
/// come from the listener's thread and hop to the loop.
///
/// `@unchecked Sendable`: mutable state is used only inside `ask`, which runs on the loop.
final class SimulatorController: @unchecked Sendable {
    let loop: EventLoop
    let simulator: Simulator
    let faultInjector: ScriptedFaultInjector
    let journal: Journal

    let tokenStatuses: TokenStatusOverrides
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
            faultInjector: injector,
            journal: journal, clock: clock)
        injector.inject = { [weak simulator] fault in simulator?.inject(fault) }
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

    /// Makes all waiting callers return.
    func beginStopping() { stopFlag.store(true, ordering: .relaxed) }

    var isStopping: Bool { stopFlag.load(ordering: .relaxed) }

    /// Runs `question` on the loop, between two turns of pushes. It must be quick.
    func perform<Value: Sendable>(
        _ question: @escaping @Sendable (SimulatorController) throws(ControlRefusal) -> Value
    ) async throws -> Value {
        let answer: Result<Value, ControlRefusal> = await withCheckedContinuation { continuation in
            let isQueued = loop.execute {
                do throws(ControlRefusal) {
                    continuation.resume(returning: .success(try question(self)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            if !isQueued { continuation.resume(returning: .failure(.stopping)) }
        }
        return try answer.get()
    }
}

extension HTTPRoutes {
    /// Adds a route whose handler may throw a refusal.
    mutating func control(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int = 64 * 1024,
        handle: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        onAsync(method, path: pattern, bodyBytesMax: bodyBytesMax) { request in
            do {
                return try await handle(request)
            } catch let refusal as ControlRefusal {
                return refusal.response
            } catch let error as JSONError {
                return ControlRefusal(error).response
            } catch {
                return .error(status: 500, code: "internal", message: "\(error)")
            }
        }
    }
}

extension HTTPRequest {
    /// Reads the body as one JSON value. A missing body counts as an empty object.
    func readJSON<Value>(
        limits: JSONLimits = JSONLimits(bytesMax: 64 * 1024), decode: (JSONValue) -> Value
    ) throws -> Value {
        try JSONReader(limits: limits).read(body.isEmpty ? Array("{}".utf8) : body, decode: decode)
    }

    /// Returns a number of the query, or `fallback` if it is missing.
    func queryNumber(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws -> Int {
        guard let text = query(named: name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw ControlRefusal(
                status: 400, code: "bad_query",
                message: "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns a Boolean of the query, or false if it is missing.
    func queryFlag(_ name: String) throws -> Bool {
        guard let text = query(named: name) else { return false }
        guard let flag = Bool(text) else {
            throw ControlRefusal(status: 400, code: "bad_query", message: "\(name) must be true or false")
        }
        return flag
    }

    func refuseUnknownQuery(known: String...) throws {
        for field in query where !known.contains(field.name) {
            throw ControlRefusal(
                status: 400, code: "bad_query",
                message: "unknown field \(field.name); known fields are \(known.joined(separator: ", "))")
        }
    }
}
